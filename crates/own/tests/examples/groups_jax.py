# Softmax over groups of `g` neighbouring columns with JAX, compiled once for a case.
from functools import partial

import jax


@partial(jax.jit, static_argnames="g")
def run(x, g):
    groups = x.reshape(*x.shape[:-1], -1, g)
    return jax.nn.softmax(groups, axis=-1).reshape(x.shape)
