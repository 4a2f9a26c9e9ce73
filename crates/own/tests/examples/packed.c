// A product with a weight that is transposed before calls.
#include <stdint.h>
#include <stddef.h>

void pack(const float *w, uint8_t *packed, size_t cols) {
    float *transposed = (float *)packed;
    for (size_t i = 0; i < cols; i++) {
        for (size_t j = 0; j < cols; j++) {
            transposed[j * cols + i] = w[i * cols + j];
        }
    }
}

void product(const float *x, const uint8_t *packed, float *y, size_t rows, size_t cols) {
    const float *transposed = (const float *)packed;
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < cols; j++) {
            float sum = 0;
            for (size_t i = 0; i < cols; i++) {
                sum += x[r * cols + i] * transposed[j * cols + i];
            }
            y[r * cols + j] = sum;
        }
    }
}
