// Softmax over groups of `g` neighbouring columns: e^(x - max) over its sum.
#include <math.h>
#include <stddef.h>

int group_softmax(const float *x, float *y, size_t rows, size_t cols, int g) {
    if (cols % (size_t)g != 0) {
        return 1;
    }
    for (size_t start = 0; start < rows * cols; start += (size_t)g) {
        float most = x[start];
        for (int i = 1; i < g; i++) {
            most = fmaxf(most, x[start + i]);
        }
        float sum = 0;
        for (int i = 0; i < g; i++) {
            y[start + i] = expf(x[start + i] - most);
            sum += y[start + i];
        }
        for (int i = 0; i < g; i++) {
            y[start + i] /= sum;
        }
    }
    return 0;
}
