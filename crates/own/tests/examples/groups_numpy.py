# Softmax over groups of `g` neighbouring columns with NumPy, written into the output.
import numpy as np


def run(x, y, g):
    groups = x.reshape(*x.shape[:-1], -1, g)
    raised = np.exp(groups - groups.max(axis=-1, keepdims=True))
    np.divide(raised, raised.sum(axis=-1, keepdims=True), out=y.reshape(groups.shape))
