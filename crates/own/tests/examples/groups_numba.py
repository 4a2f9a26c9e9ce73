# Softmax over groups of `g` neighbouring columns with Numba.
import numpy as np
from numba import njit


@njit
def run(x, y, g):
    rows, cols = x.shape
    for i in range(rows):
        for start in range(0, cols, g):
            most = x[i, start]
            for j in range(start, start + g):
                most = max(most, x[i, j])
            total = np.float32(0)
            for j in range(start, start + g):
                y[i, j] = np.exp(x[i, j] - most)
                total += y[i, j]
            for j in range(start, start + g):
                y[i, j] /= total
