"""NumPy and SciPy: what their users write for an op."""

import ctypes
import glob
import os

import numpy as np
from scipy.special import expit, softmax

# A worker prints nothing; the flags are read either way.
np.seterr(all="ignore")
blas = None


def introduce(case):
    parallel = case.op == "matmul"
    if parallel:
        set_threads(case.threads)
    config = np.show_config(mode="dicts")
    library = config["Build Dependencies"]["blas"]
    return {
        "version": np.__version__,
        "build": f"{library['name']} {library['version']}; "
        f"{config['Compilers']['c']['name']} {config['Compilers']['c']['version']}",
        "isa": core() if parallel else " ".join(config["SIMD Extensions"].get("found", [])),
        "memory": "" if case.op in ("matmul", "add") else "temporaries in new memory",
        "parallel": parallel,
    }


def library():
    """The BLAS inside the wheel; it counts threads for itself."""
    global blas
    if blas is None:
        folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
        files = glob.glob(os.path.join(folder, "libscipy_openblas*"))
        if not files:
            raise RuntimeError("this NumPy has a BLAS whose threads cannot be set: use the wheel")
        blas = ctypes.CDLL(files[0])
    return blas


def core():
    name = library().scipy_openblas_get_corename64_
    name.restype = ctypes.c_char_p
    return name().decode()


def set_threads(count):
    library().scipy_openblas_set_num_threads64_(count)
    got = library().scipy_openblas_get_num_threads64_()
    if got != count:
        raise RuntimeError(f"its BLAS takes {got} threads, not {count}")


def array(operand):
    dtype = np.dtype({"f32": "f4", "f16": "f2"}[operand.dtype])
    steps = [step * dtype.itemsize for step in strides(operand)]
    return np.ndarray(operand.shape, dtype, memory(operand), strides=steps)


def bind(case):
    inputs = [array(operand) for operand in case.inputs]
    outputs = [array(operand) for operand in case.outputs]
    return BINDERS[case.op](case, inputs, *outputs)


def matmul(case, inputs, c):
    a, b = inputs
    if case.transposed:
        b = b.swapaxes(-1, -2)
    if len(a) == 1:
        # One product is a product of matrices, as a user has it.
        a, b, c = a[0], b if b.ndim == 2 else b[0], c[0]
    return (lambda: np.matmul(a, b, out=c)), None


def add(case, inputs, c):
    a, b = inputs if len(inputs) == 2 else (c, inputs[0])
    return (lambda: np.add(a, b, out=c)), None


def silu(case, inputs, y):
    x = inputs[0]
    return (lambda: np.multiply(x, expit(x), out=y)), None


def rms_norm(case, inputs, y):
    x, w = inputs
    eps = np.float32(case.eps)

    def llama():
        scale = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)
        np.multiply(x / scale, w, out=y)

    def gemma():
        scale = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)
        np.multiply(x / scale, 1 + w, out=y)

    return (gemma if case.gemma else llama), None


def softmax_of_rows(case, inputs, y):
    x = inputs[0]
    kept = [None]

    def call():
        kept[0] = softmax(x, axis=-1)

    return call, lambda: np.copyto(y, kept[0])


BINDERS = {
    "matmul": matmul,
    "add": add,
    "silu": silu,
    "rms_norm": rms_norm,
    "softmax": softmax_of_rows,
}
