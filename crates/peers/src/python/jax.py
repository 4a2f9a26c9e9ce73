"""JAX: what its users write for an op, through jax.jit."""

import os

import jax
import jax.extend
import jax.numpy as jnp
import ml_dtypes
import numpy as np

DTYPES = {
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "i8": np.int8,
    "i32": np.int32,
    "u32": np.uint32,
}
# Data that begins here is used where it lies; other data is copied by XLA.
ALIGNMENT = 64
kept = {}


def introduce(case):
    set_threads(case.threads)
    # Without it JAX makes f32 of every f64, also of one that is asked for.
    jax.config.update("jax_enable_x64", has(case, "angles", "exact"))
    kept["call"] = jax.jit(FUNCTIONS[case.op](case))
    device = jax.devices()[0]
    scaled = "; queries scaled, not scores" * (case.op == "attention")
    return {
        "version": jax.__version__,
        "build": f"jaxlib {jax.lib.__version__}; {device.client.platform_version}{scaled}",
        "isa": "as LLVM finds it",
        "memory": "new memory for each result",
        "parallel": True,
    }


def set_threads(count):
    """The client reads the count when it is made."""
    if kept.get("threads") == count:
        return
    os.environ["PJRT_NPROC"] = str(count)
    if kept:
        # Compiled functions go with their client, and are compiled anew.
        jax.extend.backend.clear_backends()
    kept["threads"] = count


def array(operand):
    dtype = np.dtype(DTYPES[operand.dtype])
    steps = [step * dtype.itemsize for step in strides(operand)]
    return np.ndarray(operand.shape, dtype, memory(operand), strides=steps)


def bind(case):
    inputs = [array(operand) for operand in case.inputs]
    outputs = [array(operand) for operand in case.outputs]
    if case.op == "matmul" and len(outputs[0]) == 1:
        # One product is a product of matrices, as a user has it.
        inputs = [x[0] if x.ndim == 3 else x for x in inputs]
        outputs = [output[0] for output in outputs]
    call = kept["call"]
    results = [None]
    given = [on_device(x) for x in inputs]

    def once():
        results[0] = jax.block_until_ready(call(*given))

    def once_copied():
        # Strided or unaligned data is copied anew: it may have changed.
        results[0] = jax.block_until_ready(call(*(jnp.array(x, copy=True) for x in inputs)))

    def settle():
        made = results[0] if isinstance(results[0], tuple) else results
        for output, result in zip(outputs, made, strict=True):
            np.copyto(output, np.asarray(result))

    in_place = all(x is not None for x in given)
    return (once if in_place else once_copied), settle


def on_device(x):
    """The same memory as an array of JAX, if that can be."""
    if not x.flags.c_contiguous or x.ctypes.data % ALIGNMENT or x.size == 0:
        return None
    shared = jax.device_put(x, may_alias=True)
    return shared if shared.unsafe_buffer_pointer() == x.ctypes.data else None


def wide(call):
    """The same, computed in f32 and rounded once to the type of the first operand."""

    def once(*inputs):
        results = call(*(x.astype(jnp.float32) for x in inputs))
        rounded = tuple(x.astype(inputs[0].dtype) for x in jax.tree.leaves(results))
        return rounded if isinstance(results, tuple) else rounded[0]

    return once


def matmul(case):
    result = jnp.float32 if case.attrs["out"] == "f32" else None
    turn = (lambda b: b.mT) if case.attrs["layout"] == "nt" else (lambda b: b)
    activation = ACTIVATIONS.get(case.attrs["activation"])
    if not activation and not case.attrs["bias"]:
        return lambda a, b: jnp.matmul(a, turn(b), preferred_element_type=result)

    def ended(a, b, *bias):
        c = jnp.matmul(a, turn(b), preferred_element_type=jnp.float32)
        for row in bias:
            c = c + row.astype(jnp.float32)
        return (activation(c) if activation else c).astype(result or a.dtype)

    return ended


def normalised(x, eps):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps)


def rms_norm(case):
    eps, gemma = case.attrs["eps"], has(case, "variant", "gemma")
    return wide(lambda x, w: normalised(x, eps) * (w + 1 if gemma else w))


def add_rms_norm(case):
    norm = rms_norm(case)

    def call(x, residual, w):
        total = x + residual
        return total, norm(total, w)

    return call


def qk_norm(case):
    norm = rms_norm(case)

    def call(*inputs):
        count = len(inputs) // 2
        return tuple(norm(x, w) for x, w in zip(inputs[:count], inputs[count:], strict=True))

    return call


def layer_norm(case):
    eps = case.attrs["eps"]

    def call(x, w, bias):
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        return normalised(centred, eps) * w + bias

    return wide(call)


def rope(case):
    part = case.attrs["part"] or case.axes["d"]
    half = part // 2
    split = case.attrs["pairing"] == "neox"

    def turned(x, cos, sin):
        cos, sin = cos[:, None, :], sin[:, None, :]
        wide, rest = x[..., :part].astype(jnp.float32), x[..., part:]
        pairs = (wide[..., :half], wide[..., half:]) if split else (wide[..., ::2], wide[..., 1::2])
        a, b = pairs
        both = a * cos - b * sin, b * cos + a * sin
        if split:
            joined = jnp.concatenate(both, axis=-1)
        else:
            joined = jnp.stack(both, axis=-1).reshape(wide.shape)
        return jnp.concatenate([joined.astype(x.dtype), rest], axis=-1)

    if case.attrs["angles"] == "table":
        return turned
    steps = case.attrs["theta"] ** (-np.arange(half) / half)
    if case.attrs["scaling"] == "linear":
        steps = steps / case.attrs["factor"]

    def exact(x, positions):
        # In f32 an angle of 100,000 is off by thousandths.
        angles = positions.astype(jnp.float64)[:, None] * jnp.asarray(steps, dtype=jnp.float64)
        return turned(x, *(f(angles).astype(jnp.float32) for f in (jnp.cos, jnp.sin)))

    return exact


def attention(case):
    """Its own function has heads after positions."""
    scale = jnp.float32(case.attrs["scale"] or case.axes["d"] ** -0.5)
    causal = case.attrs["mask"] == "causal" and case.axes["q"] > 1

    def call(q, k, v):
        q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
        # Queries are scaled, not scores: XLA would fuse that product into the difference from the
        # greatest score, which is rounded, and from scores of 1e10 on the exponential overflows.
        result = jax.nn.dot_product_attention(q * scale, k, v, scale=1.0, is_causal=causal)
        return result.swapaxes(1, 2)

    return call


def softmax(case):
    if case.attrs["mask"] == "none":
        return lambda x: jax.nn.softmax(x, axis=-1)
    s, d = case.axes["s"], case.axes["d"]
    mask = jnp.arange(d) <= jnp.arange(s)[:, None] + (d - s)
    # Its argument `where` would make 0 of hidden elements in rows that are NaN.
    return lambda x: jax.nn.softmax(jnp.where(mask, x, -jnp.inf), axis=-1)


def axpy(case):
    alpha = jnp.float32(case.attrs["alpha"])
    return wide(lambda x, y: alpha * x + y)


def dot(case):
    def call(x, y):
        return jnp.vecdot(x.astype(jnp.float32), y.astype(jnp.float32))

    return call


def dequantize_int8(case):
    rounded = DTYPES[case.dtype]

    def call(codes, scales):
        split = codes.astype(jnp.float32)
        if case.attrs["scheme"] == "group":
            split = split.reshape(*codes.shape[:-1], scales.shape[-1], -1)
            scales = scales[..., None]
        elif scales.size > 1:
            scales = scales.reshape(*codes.shape[:-1], 1)
        return (split * scales).reshape(codes.shape).astype(rounded)

    return call


def matmul_int8(case):
    def call(a, b, *scales):
        sums = jnp.matmul(a, b.mT, preferred_element_type=jnp.int32)
        return sums.astype(jnp.float32) * scales[0][:, None] * scales[1] if scales else sums

    return call


def matmul_q8(case):
    group, terms = case.attrs["group"], case.axes["k"]

    def call(x, codes, scales):
        codes = codes.astype(jnp.float32)
        if terms % group:
            # The last group of a row is short: each code has its scale beside it.
            weights = codes * jnp.repeat(scales, group, axis=-1)[:, :terms]
        else:
            weights = codes.reshape(*scales.shape, group) * scales[..., None]
        return x @ weights.reshape(codes.shape).mT

    return call


def axes(case):
    """The axes that a reduction is along."""
    return {"d": (2,), "s": (1,), "b": (0,), "all": (0, 1, 2)}[case.attrs["axis"]]


def reduction(function):
    return lambda case: wide(lambda x: function(x, axis=axes(case)))


def variance(case):
    ddof = case.attrs["correction"]
    return wide(lambda x: jnp.var(x, axis=axes(case), ddof=ddof))


def argmax(case):
    along = axes(case)
    axis = along[0] if len(along) == 1 else None
    return lambda x: jnp.argmax(x, axis=axis).astype(jnp.uint32)


def mse(case):
    last = jnp.sum if case.attrs["reduction"] == "sum" else jnp.mean
    return lambda x, t: last(jnp.square(x.astype(jnp.float32) - t.astype(jnp.float32)))


def cross_entropy(case):
    smoothing, ignore = case.attrs["smoothing"], case.attrs["ignore"]
    mean = case.attrs["reduction"] == "mean"

    def call(x, targets):
        counts = targets != ignore
        logs = jax.nn.log_softmax(x.astype(jnp.float32), axis=-1)
        places = jnp.where(counts, targets, 0)[:, None]
        losses = -jnp.take_along_axis(logs, places, axis=-1)[:, 0]
        if smoothing:
            losses = (1 - smoothing) * losses - smoothing * jnp.mean(logs, axis=-1)
        losses = jnp.where(counts, losses, 0)
        return jnp.sum(losses) / jnp.sum(counts) if mean else losses

    return call


def layer_norm_grad(case):
    eps = case.attrs["eps"]

    def forward(x, gamma, beta):
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        return normalised(centred, eps) * gamma + beta

    def call(x, gamma, dy):
        return jax.vjp(forward, x, gamma, jnp.zeros_like(gamma))[1](dy)

    return wide(call)


def fft(case):
    names = "xyz"
    axes = [1 + i for i, axis in enumerate(names) if axis == "z" or case.axes[axis] > 1]
    kind, inverse = case.attrs["kind"], case.attrs["direction"] == "inverse"
    sizes = [case.axes[names[i - 1]] for i in axes]
    whole = lambda x: jax.lax.complex(x[..., 0], x[..., 1])
    pairs = lambda y: jnp.stack((y.real, y.imag), -1)
    if kind == "r2c":
        return lambda x: pairs(jnp.fft.rfftn(x, axes=axes))
    if kind == "c2r":
        return lambda x: jnp.fft.irfftn(whole(x), sizes, axes)
    transform = jnp.fft.ifftn if inverse else jnp.fft.fftn
    return lambda x: pairs(transform(whole(x), axes=axes))


ACTIVATIONS = {
    "relu": jax.nn.relu,
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "gelu_tanh": jax.nn.gelu,
    "silu": jax.nn.silu,
}
# An op as a function of its inputs, made for a case; several results are a tuple.
FUNCTIONS = {
    "matmul": matmul,
    "softmax": softmax,
    "log_softmax": lambda case: wide(lambda x: jax.nn.log_softmax(x, axis=-1)),
    "add": lambda case: jnp.add,
    "sub": lambda case: jnp.subtract,
    "mul": lambda case: jnp.multiply,
    "div": lambda case: wide(jnp.divide),
    "relu": lambda case: jax.nn.relu,
    "exp": lambda case: wide(jnp.exp),
    "tanh": lambda case: wide(jnp.tanh),
    "sigmoid": lambda case: wide(jax.nn.sigmoid),
    "silu": lambda case: jax.nn.silu,
    "gelu": lambda case: wide(ACTIVATIONS["gelu"]),
    "gelu_tanh": lambda case: wide(jax.nn.gelu),
    "gelu_quick": lambda case: wide(lambda x: x * jax.nn.sigmoid(1.702 * x)),
    "swiglu": lambda case: wide(lambda gate, up: jax.nn.silu(gate) * up),
    "geglu": lambda case: wide(lambda gate, up: jax.nn.gelu(gate) * up),
    "axpy": axpy,
    "dot": dot,
    "rms_norm": rms_norm,
    "layer_norm": layer_norm,
    "add_rms_norm": add_rms_norm,
    "qk_norm": qk_norm,
    "rope": rope,
    "attention": attention,
    "fft": fft,
    "sum": reduction(jnp.sum),
    "mean": reduction(jnp.mean),
    "max": reduction(jnp.max),
    "variance": variance,
    "argmax": argmax,
    "mse": mse,
    "cross_entropy": cross_entropy,
    "layer_norm_grad": layer_norm_grad,
    "softmax_grad": lambda case: wide(
        lambda y, dy: y * (dy - jnp.sum(y * dy, axis=-1, keepdims=True))
    ),
    "transpose": lambda case: lambda x: x.mT,
    "cast": lambda case: lambda x: x.astype(DTYPES[case.attrs["to"]]),
    "dequantize_int8": dequantize_int8,
    "matmul_int8": matmul_int8,
    "matmul_q8": matmul_q8,
}
