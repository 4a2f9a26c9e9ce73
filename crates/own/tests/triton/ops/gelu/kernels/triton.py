# /// script
# [tool.proofmark]
# summary = "one program for each block of elements"
# dtypes = ["f32", "f16"]
# promises = { cancels = true }
# ///
"""y = x · Φ(x), by the error function."""

import triton
import triton.language as tl

@triton.jit
def kernel(x, y, count, block: tl.constexpr):
    places = tl.program_id(0) * block + tl.arange(0, block)
    mask = places < count
    value = tl.load(x + places, mask=mask, other=0.0).to(tl.float32)
    result = 0.5 * value * (1.0 + tl.erf(value * 0.7071067811865476))
    tl.store(y + places, result, mask=mask)


def run(x, y):
    block = 1024
    kernel[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), block)
