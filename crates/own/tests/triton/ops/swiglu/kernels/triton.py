# /// script
# [tool.proofmark]
# summary = "one program for each block of elements"
# dtypes = ["f32", "f16"]
# promises = { flushes_subnormals = true }
# ///
"""y = gate · sigmoid(gate) · up."""

import triton
import triton.language as tl

@triton.jit
def kernel(gate, up, y, count, block: tl.constexpr):
    places = tl.program_id(0) * block + tl.arange(0, block)
    mask = places < count
    opened = tl.load(gate + places, mask=mask, other=0.0).to(tl.float32)
    value = tl.load(up + places, mask=mask, other=0.0).to(tl.float32)
    # exp(-gate) would overflow long before the result is zero: the half of it does not.
    half = tl.exp(-0.5 * tl.abs(opened))
    low = tl.where(opened < 0.0, half, 1.0)
    result = (opened * low) * (value * low) / (1.0 + half * half)
    tl.store(y + places, result, mask=mask)


def run(gate, up, y):
    block = 1024
    kernel[(triton.cdiv(gate.numel(), block),)](gate, up, y, gate.numel(), block)
