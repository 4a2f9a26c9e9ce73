"""JAX: what its users write for an op, through jax.jit."""

import os

import jax
import jax.extend
import jax.numpy as jnp
import ml_dtypes
import numpy as np

DTYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
# Data that begins here is used where it lies; other data is copied by XLA.
ALIGNMENT = 64
kept = {}


def introduce(case):
    set_threads(case.threads)
    kept["call"] = jax.jit(FUNCTIONS[case.op](case))
    device = jax.devices()[0]
    return {
        "version": jax.__version__,
        "build": f"jaxlib {jax.lib.__version__}; {device.client.platform_version}",
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


def matmul(case):
    wide = jnp.float32 if case.wide else None
    if case.transposed:
        return lambda a, b: jnp.matmul(a, b.mT, preferred_element_type=wide)
    return lambda a, b: jnp.matmul(a, b, preferred_element_type=wide)


def rms_norm(case):
    eps = case.eps

    def call(x, w):
        wide = x.astype(jnp.float32)
        scale = jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + eps)
        weight = w.astype(jnp.float32) + (1 if case.gemma else 0)
        return (wide * scale * weight).astype(x.dtype)

    return call


# An op as a function of its inputs, made for a case; several results are a tuple.
FUNCTIONS = {
    "matmul": matmul,
    "softmax": lambda case: lambda x: jax.nn.softmax(x, axis=-1),
    "add": lambda case: jnp.add,
    "silu": lambda case: jax.nn.silu,
    "rms_norm": rms_norm,
}
