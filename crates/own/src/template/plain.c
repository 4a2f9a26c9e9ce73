#include <math.h>
#include <stddef.h>

void NAME(const float *x, const float *weight, float *y, size_t rows, size_t cols, double eps)
{
    for (size_t row = 0; row < rows; row++) {
        const float *from = x + row * cols;
        float *to = y + row * cols;
        double sum = 0.0;
        for (size_t col = 0; col < cols; col++)
            sum += (double)from[col] * from[col];
        float scale = (float)(1.0 / sqrt(sum / (double)cols + eps));
        for (size_t col = 0; col < cols; col++)
            to[col] = from[col] * scale * weight[col];
    }
}
