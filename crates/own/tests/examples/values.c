// Functions that write down what they are given, for tests.
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <string.h>

void values(float *y, int i, unsigned u, int64_t l, size_t z, float f, double d, bool b,
            const char *mode, int seventh, double d2, double d3, double d4, double d5, double d6,
            double d7, double d8, float ninth, const float *x) {
    double sum = d + d2 + d3 + d4 + d5 + d6 + d7 + d8;
    float given[] = {i, u, l, z, f, sum, b, strcmp(mode, "fast") == 0, seventh, ninth, x[0]};
    memcpy(y, given, sizeof given);
}

// The same with arguments that all fit into registers.
int in_registers(float *y, int i, float f, int64_t l, double d, bool b, const float *x) {
    float given[] = {i, f, l, d, b, x[0]};
    memcpy(y, given, sizeof given);
    return 0;
}

void copy_rows(const float *x, float *y, size_t rows, size_t cols, size_t x_stride, int y_stride) {
    for (size_t r = 0; r < rows; r++) {
        memcpy(y + r * y_stride, x + r * x_stride, cols * sizeof *x);
    }
}

void spans(float *y, size_t y_span, const float *x, size_t x_span, int y_stride,
           size_t x_stride) {
    y[0] = x_span;
    y[1] = y_span;
    y[2] = y_stride;
    (void)x, (void)x_stride;
}

void copy_f32(const float *x, float *y, size_t n) { memcpy(y, x, n * 4); }

void copy_bf16(const uint16_t *x, uint16_t *y, size_t n) { memcpy(y, x, n * 2); }

int fails(const float *x, float *y) { return x[0] == 0 ? 0 : -7; }

// A function whose result is an `int` may leave anything in the upper half of the register.
int64_t fills_the_register(const float *x, float *y) { return (int64_t)1 << 32; }

void in_workspace(const float *x, float *y, uint8_t *workspace, int threads, size_t last) {
    workspace[last] = threads;
    y[0] = workspace[last];
}
