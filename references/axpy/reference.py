def axpy(x, y, alpha):
    return alpha * x + y
