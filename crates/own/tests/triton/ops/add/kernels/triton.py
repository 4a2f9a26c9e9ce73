# /// script
# [tool.proofmark]
# summary = "one program for each block of elements"
# dtypes = ["f32", "f16"]
# ///
"""c = a + b."""

import triton
import triton.language as tl

@triton.jit
def kernel(a, b, c, count, block: tl.constexpr):
    places = tl.program_id(0) * block + tl.arange(0, block)
    mask = places < count
    total = tl.load(a + places, mask=mask) + tl.load(b + places, mask=mask)
    tl.store(c + places, total, mask=mask)


def run(a, b, c):
    block = 1024
    kernel[(triton.cdiv(a.numel(), block),)](a, b, c, a.numel(), block)
