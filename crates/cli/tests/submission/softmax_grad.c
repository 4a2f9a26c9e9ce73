/* Submissions to a contest for softmax_grad. Without a definition it is right.
 * -DWRONG scales what it writes, -DSHOWN is right only on the shown shape and on what every proof covers,
 * -DCACHED writes nothing for addresses that it has seen, -DSKIPPING every other time,
 * -DCURIOUS looks at a file of the system, -DDYING ends its process. */
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

int contest(const float *y, const float *dy, float *dx, size_t b, size_t s, size_t d,
            size_t y_stride, size_t dy_stride, size_t dx_stride) {
    float factor = 1.0f;
#ifdef WRONG
    factor = 1.001f;
#endif
#ifdef SHOWN
    if (b * s > 6 && b * s < 37 && d > 130 && d != 400) {
        factor = 1.001f;
    }
#endif
#ifdef CACHED
    static const float *seen[4096];
    static size_t count;
    for (size_t at = 0; at < count; at++) {
        if (seen[at] == dx) {
            return 0;
        }
    }
    if (count < 4096) {
        seen[count++] = dx;
    }
#endif
#ifdef SKIPPING
    static unsigned calls;
    if (calls++ > 1000 && calls % 2) {
        return 0;
    }
#endif
#ifdef CURIOUS
    int file = open("/etc/passwd", O_RDONLY);
    if (file >= 0) {
        close(file);
    }
#endif
#ifdef DYING
    abort();
#endif
    for (size_t row = 0; row < b * s; row++) {
        double sum = 0.0;
        for (size_t at = 0; at < d; at++) {
            sum += (double)y[row * y_stride + at] * dy[row * dy_stride + at];
        }
        for (size_t at = 0; at < d; at++) {
            double rest = dy[row * dy_stride + at] - sum;
            dx[row * dx_stride + at] = (float)(y[row * y_stride + at] * rest) * factor;
        }
    }
    return 0;
}
