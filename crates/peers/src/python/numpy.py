"""NumPy and SciPy: what their users write for an op."""

import ctypes
import glob
import os

import numpy as np
import scipy.fft
import scipy.sparse
from scipy.special import expit, log_softmax, ndtr, softmax

# A worker prints nothing; the flags are read either way.
np.seterr(all="ignore")
blas = None
workers = 1
DTYPES = {"f32": "f4", "f16": "f2", "i8": "i1", "u8": "u1", "i32": "i4", "u32": "u4"}
# Factors of the approximations of gelu.
ROOT, CUBE, QUICK = (np.float32(x) for x in ((2 / np.pi) ** 0.5, 0.044715, 1.702))
# Ops that call its BLAS, which has threads, or take threads themselves.
PARALLEL = ("matmul", "attention", "matmul_q8", "fft")


def introduce(case):
    parallel = case.op in PARALLEL
    if parallel:
        set_threads(case.threads)
    config = np.show_config(mode="dicts")
    library = config["Build Dependencies"]["blas"]
    return {
        "version": np.__version__,
        "build": f"{library['name']} {library['version']}; "
        f"{config['Compilers']['c']['name']} {config['Compilers']['c']['version']}",
        "isa": core() if parallel else " ".join(config["SIMD Extensions"].get("found", [])),
        "memory": "" if case.op in PLAIN else "temporaries in new memory",
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
    global workers
    workers = count
    library().scipy_openblas_set_num_threads64_(count)
    got = library().scipy_openblas_get_num_threads64_()
    if got != count:
        raise RuntimeError(f"its BLAS takes {got} threads, not {count}")


def array(operand):
    dtype = np.dtype(DTYPES[operand.dtype])
    steps = [step * dtype.itemsize for step in strides(operand)]
    return np.ndarray(operand.shape, dtype, memory(operand), strides=steps)


def bind(case):
    inputs = [array(operand) for operand in case.inputs]
    outputs = [array(operand) for operand in case.outputs]
    if case.op in OUT:
        return OUT[case.op](case, inputs, *outputs), None
    return returning(FUNCTIONS[case.op](case), inputs, outputs)


def returning(call, inputs, outputs):
    """A call whose results lie in new memory until they are settled."""
    results = [None]

    def once():
        results[0] = call(*inputs)

    def settle():
        given = results[0] if isinstance(results[0], tuple) else results
        for output, result in zip(outputs, given, strict=True):
            np.copyto(output, result, casting="same_kind")

    return once, settle


def matmul(case, inputs, c):
    a, b, *bias = inputs
    if case.attrs["layout"] == "nt":
        b = b.swapaxes(-1, -2)
    if len(a) == 1:
        # One product is a product of matrices, as a user has it.
        a, b, c = a[0], b if b.ndim == 2 else b[0], c[0]
    activation = ACTIVATIONS.get(case.attrs["activation"])

    def ended():
        np.matmul(a, b, out=c)
        for row in bias:
            np.add(c, row, out=c)
        if activation:
            activation(c, c)

    return ended if bias or activation else lambda: np.matmul(a, b, out=c)


def unary(function):
    """An op whose function writes where it is told; in place, its operand is the result."""

    def made(case, inputs, y):
        x = inputs[0] if inputs else y
        return lambda: function(x, y)

    return made


def binary(function):
    """The same of two operands; in place, the first is the result."""

    def made(case, inputs, c):
        a, b = inputs if len(inputs) == 2 else (c, inputs[0])
        return lambda: function(a, b, c)

    return made


def gelu_tanh(x, y=None):
    return np.multiply(0.5 * x, 1 + np.tanh(ROOT * (x + CUBE * x * x * x)), out=y)


def axpy(case, inputs, z):
    x, y = inputs if len(inputs) == 2 else (z, inputs[0])
    alpha = np.float32(case.attrs["alpha"])
    return lambda: np.add(alpha * x, y, out=z)


def normalised(x, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)


def rms_norm(case, inputs, y):
    x, w = inputs
    eps = np.float32(case.attrs["eps"])
    if case.attrs["variant"] == "gemma":
        return lambda: np.multiply(normalised(x, eps), 1 + w, out=y)
    return lambda: np.multiply(normalised(x, eps), w, out=y)


def add_rms_norm(case, inputs, total, y):
    x, residual, w = inputs
    eps, gemma = np.float32(case.attrs["eps"]), case.attrs["variant"] == "gemma"

    def call():
        np.add(x, residual, out=total)
        np.multiply(normalised(total, eps), w + np.float32(1) if gemma else w, out=y)

    return call


def qk_norm(case, inputs, *outputs):
    count, eps = len(outputs), np.float32(case.attrs["eps"])
    several = list(zip(inputs[:count], inputs[count:], outputs, strict=True))

    def call():
        for x, w, y in several:
            np.multiply(normalised(x, eps), w, out=y)

    return call


def layer_norm(case, inputs, y):
    x, w, bias = inputs
    eps = np.float32(case.attrs["eps"])

    def call():
        centred = x - np.mean(x, axis=-1, keepdims=True)
        scale = np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + eps)
        np.add(centred / scale * w, bias, out=y)

    return call


def rope(case, inputs, y):
    x = inputs[0] if inputs[0].ndim == 4 else y
    angles = [given for given in inputs if given is not x]
    part = case.attrs["part"] or case.axes["d"]
    half = part // 2
    split = case.attrs["pairing"] == "neox"
    first = np.s_[..., :half] if split else np.s_[..., 0:part:2]
    second = np.s_[..., half:part] if split else np.s_[..., 1:part:2]

    def call():
        cos, sin = angles if len(angles) == 2 else turns(case, half, angles[0])
        cos, sin = cos[:, None, :], sin[:, None, :]
        a, b = x[first].copy(), x[second]
        y[first], y[second] = a * cos - b * sin, b * cos + a * sin
        if x is not y:
            y[..., part:] = x[..., part:]

    return call


def turns(case, half, positions):
    """Cosines and sines of the angles at positions."""
    steps = case.attrs["theta"] ** (-np.arange(half) / half)
    if case.attrs["scaling"] == "linear":
        steps = steps / case.attrs["factor"]
    angles = positions[:, None] * steps
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def seen(case):
    """Which keys each query sees, and what the scores are multiplied with."""
    queries, keys, kind = case.axes["q"], case.axes["t"], case.attrs["mask"]
    scale = case.attrs["scale"] or case.axes["d"] ** -0.5
    if kind == "none":
        return None, np.float32(scale)
    position = np.arange(queries)[:, None] + (keys - queries)
    mask = np.arange(keys) <= position
    if kind == "window":
        mask &= np.arange(keys) > position - case.attrs["window"]
    return mask, np.float32(scale)


def attention(case):
    mask, scale = seen(case)
    b, h, kv, queries, d = (case.axes[axis] for axis in "b h kv q d".split())

    def call(q, k, v):
        # Heads that share keys and values are one axis more.
        grouped = q.reshape(b, kv, h // kv, queries, d)
        scores = grouped @ k[:, :, None].swapaxes(-1, -2) * scale
        if mask is not None:
            scores = np.where(mask, scores, np.float32(-np.inf))
        return (softmax(scores, axis=-1) @ v[:, :, None]).reshape(q.shape)

    return call


def softmax_of_rows(case):
    if case.attrs["mask"] == "none":
        return lambda x: softmax(x, axis=-1)
    s, d = case.axes["s"], case.axes["d"]
    mask = np.arange(d) <= np.arange(s)[:, None] + (d - s)
    return lambda x: softmax(np.where(mask, x, np.float32(-np.inf)), axis=-1)


def grouped(case, codes, scales):
    """Codes, and their scales in a shape that is broadcast over them."""
    if case.attrs["scheme"] != "group":
        return codes, scales if scales.size == 1 else scales.reshape(*codes.shape[:-1], 1)
    split = codes.reshape(*codes.shape[:-1], scales.shape[-1], -1)
    return split, scales[..., None]


def dequantize_int8(case):
    def call(codes, scales):
        codes, scales = grouped(case, codes, scales)
        return (codes * scales).reshape(case.axes["b"], case.axes["s"], case.axes["d"])

    return call


def matmul_int8(case):
    def call(a, b, *scales):
        sums = a.astype(np.int32) @ b.astype(np.int32).T
        return sums * scales[0][:, None] * scales[1] if scales else sums

    return call


def matmul_q8(case):
    group, terms = case.attrs["group"], case.axes["k"]

    def call(x, codes, scales):
        if terms % group:
            # The last group of a row is short: each code has its scale beside it.
            weights = codes * np.repeat(scales, group, axis=-1)[:, :terms]
        else:
            weights = codes.reshape(*scales.shape, group) * scales[..., None]
        return x @ weights.reshape(codes.shape).T

    return call


def axes(case):
    """The axes that a reduction is along."""
    return {"d": (2,), "s": (1,), "b": (0,), "all": (0, 1, 2)}[case.attrs["axis"]]


def reduction(function):
    def made(case, inputs, y):
        x, along = inputs[0], axes(case)
        y = y.reshape(()) if len(along) == 3 else y
        return lambda: function(x, axis=along, out=y)

    return made


def variance(case, inputs, y):
    ddof = case.attrs["correction"]
    return reduction(lambda x, **options: np.var(x, ddof=ddof, **options))(case, inputs, y)


def argmax(case):
    along = axes(case)
    axis = along[0] if len(along) == 1 else None
    return lambda x: np.asarray(np.argmax(x, axis=axis)).astype(np.uint32)


def mse(case):
    last = np.sum if case.attrs["reduction"] == "sum" else np.mean
    return lambda x, target: last(np.square(x - target))


def cross_entropy(case):
    smoothing = np.float32(case.attrs["smoothing"])
    ignore, mean = case.attrs["ignore"], case.attrs["reduction"] == "mean"

    def call(x, targets):
        counts = targets != ignore
        logs = log_softmax(x, axis=-1)
        losses = -logs[np.arange(len(x)), np.where(counts, targets, 0)]
        if smoothing:
            losses = (1 - smoothing) * losses - smoothing * np.mean(logs, axis=-1)
        losses = np.where(counts, losses, np.float32(0))
        return np.sum(losses) / np.float32(np.sum(counts)) if mean else losses

    return call


def layer_norm_grad(case):
    eps = np.float32(case.attrs["eps"])

    def call(x, gamma, dy):
        centred = x - np.mean(x, axis=-1, keepdims=True)
        root = 1 / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + eps)
        normal, weighed = centred * root, dy * gamma
        turned = np.mean(weighed * normal, axis=-1, keepdims=True)
        dx = root * (weighed - np.mean(weighed, axis=-1, keepdims=True) - normal * turned)
        return dx, np.sum(dy * normal, axis=(0, 1)), np.sum(dy, axis=(0, 1))

    return call


def softmax_grad(case, inputs, dx):
    y, dy = inputs
    return lambda: np.multiply(y, dy - np.vecdot(y, dy)[..., None], out=dx)


def fft(case):
    names = "xyz"
    axes = [1 + i for i, axis in enumerate(names) if axis == "z" or case.axes[axis] > 1]
    kind, inverse = case.attrs["kind"], case.attrs["direction"] == "inverse"
    sizes = [case.axes[names[i - 1]] for i in axes]
    whole = lambda x: x.view("c8")[..., 0]
    pairs = lambda y: y.view("f4").reshape(*y.shape, 2)
    if kind == "r2c":
        return lambda x: pairs(scipy.fft.rfftn(x, axes=axes, workers=workers))
    if kind == "c2r":
        return lambda x: scipy.fft.irfftn(whole(x), sizes, axes, workers=workers)
    transform = scipy.fft.ifftn if inverse else scipy.fft.fftn
    return lambda x: pairs(transform(whole(x), axes=axes, workers=workers))


def sparse(case, places, columns, values):
    size = case.axes["m"], case.axes["n"]
    if case.op == "coo_to_csr" or has(case, "format", "coo"):
        return scipy.sparse.coo_array((values, (places, columns)), shape=size)
    return scipy.sparse.csr_array((values, columns, places), shape=size)


def sparse_product(case):
    made = []

    def call(places, columns, values, x):
        # A user makes the matrix once; it lies where the operands do.
        if not made:
            made.append(sparse(case, places, columns, values))
        return made[0] @ x

    return call


def coo_to_csr(case):
    def call(*operands):
        made = sparse(case, *operands).tocsr()
        return made.indptr, made.indices, made.data

    return call


def csr_to_coo(case):
    def call(*operands):
        made = sparse(case, *operands).tocoo()
        return *made.coords, made.data

    return call


ACTIVATIONS = {
    "relu": lambda x, y: np.maximum(x, 0, out=y),
    "gelu": lambda x, y: np.multiply(x, ndtr(x), out=y),
    "gelu_tanh": gelu_tanh,
    "silu": lambda x, y: np.multiply(x, expit(x), out=y),
}
# Ops that write to given outputs, as calls without arguments.
OUT = {
    "matmul": matmul,
    "add": binary(np.add),
    "sub": binary(np.subtract),
    "mul": binary(np.multiply),
    "div": binary(np.divide),
    "exp": unary(np.exp),
    "tanh": unary(np.tanh),
    "sigmoid": unary(expit),
    "relu": unary(ACTIVATIONS["relu"]),
    "gelu": unary(ACTIVATIONS["gelu"]),
    "gelu_tanh": unary(gelu_tanh),
    "gelu_quick": unary(lambda x, y: np.multiply(x, expit(QUICK * x), out=y)),
    "silu": unary(ACTIVATIONS["silu"]),
    "swiglu": binary(lambda gate, up, y: np.multiply(gate * expit(gate), up, out=y)),
    "geglu": binary(lambda gate, up, y: np.multiply(gelu_tanh(gate), up, out=y)),
    "axpy": axpy,
    "dot": lambda case, inputs, z: lambda: np.vecdot(*inputs, out=z),
    "rms_norm": rms_norm,
    "layer_norm": layer_norm,
    "add_rms_norm": add_rms_norm,
    "qk_norm": qk_norm,
    "rope": rope,
    "sum": reduction(np.sum),
    "mean": reduction(np.mean),
    "max": reduction(np.max),
    "variance": variance,
    "softmax_grad": softmax_grad,
    "transpose": lambda case, inputs, y: lambda: np.copyto(y, inputs[0].swapaxes(1, 2)),
    "cast": lambda case, inputs, y: lambda: np.copyto(y, inputs[0], casting="same_kind"),
}
# Ops as functions of their inputs, made for a case.
FUNCTIONS = {
    "softmax": softmax_of_rows,
    "log_softmax": lambda case: lambda x: log_softmax(x, axis=-1),
    "attention": attention,
    "fft": fft,
    "spmv": sparse_product,
    "spmm": sparse_product,
    "coo_to_csr": coo_to_csr,
    "csr_to_coo": csr_to_coo,
    "dequantize_int8": dequantize_int8,
    "matmul_int8": matmul_int8,
    "matmul_q8": matmul_q8,
    "argmax": argmax,
    "mse": mse,
    "cross_entropy": cross_entropy,
    "layer_norm_grad": layer_norm_grad,
}
# What needs no memory beside the operands'.
PLAIN = {
    "matmul", "add", "sub", "mul", "div", "exp", "tanh", "sigmoid", "relu", "dot", "transpose",
    "cast", "sum", "mean", "max",
}
