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
    kept["call"] = jax.jit(function(case))
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
    output = array(case.outputs[0])
    if case.op == "matmul" and len(output) == 1:
        # One product is a product of matrices, as a user has it.
        inputs = [x[0] if x.ndim == 3 else x for x in inputs]
        output = output[0]
    call = kept["call"]
    results = [None]
    given = [on_device(x) for x in inputs]

    def once():
        results[0] = call(*given).block_until_ready()

    def once_copied():
        # Strided or unaligned data is copied anew: it may have changed.
        results[0] = call(*(jnp.array(x, copy=True) for x in inputs)).block_until_ready()

    in_place = all(x is not None for x in given)
    return (once if in_place else once_copied), lambda: np.copyto(output, np.asarray(results[0]))


def on_device(x):
    """The same memory as an array of JAX, if that can be."""
    if not x.flags.c_contiguous or x.ctypes.data % ALIGNMENT or x.size == 0:
        return None
    shared = jax.device_put(x, may_alias=True)
    return shared if shared.unsafe_buffer_pointer() == x.ctypes.data else None


def function(case):
    """The op as a function of its inputs."""
    eps = case.eps
    if case.op == "matmul":
        wide = jnp.float32 if case.wide else None
        if case.transposed:
            return lambda a, b: jnp.matmul(a, b.mT, preferred_element_type=wide)
        return lambda a, b: jnp.matmul(a, b, preferred_element_type=wide)
    if case.op == "softmax":
        return lambda x: jax.nn.softmax(x, axis=-1)
    if case.op == "add":
        return jnp.add
    if case.op == "silu":
        return jax.nn.silu

    def rms_norm(x, w):
        wide = x.astype(jnp.float32)
        scale = jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + eps)
        weight = w.astype(jnp.float32) + (1 if case.gemma else 0)
        return (wide * scale * weight).astype(x.dtype)

    return rms_norm
