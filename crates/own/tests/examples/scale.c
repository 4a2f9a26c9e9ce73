// As a compiler of Fortran makes it: every argument is an address, and names end in `_`. The
// procedure changes its arguments, as Fortran allows.
void scale_(const float *x, float *y, int *rows, long *cols, double *factor) {
    while (*rows > 0) {
        *rows -= 1;
        for (long i = 0; i < *cols; i++) {
            y[*rows * *cols + i] = (float)(x[*rows * *cols + i] * *factor);
        }
    }
    *cols = 0;
    *factor = 0;
}
