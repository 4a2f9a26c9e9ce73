# /// script
# [tool.proofmark]
# summary = "one program for each block of rows"
# dtypes = ["f32", "f16"]
# ///
"""y = Σ x along each row."""

import triton
import triton.language as tl

@triton.jit
def kernel(x, y, count, d, height: tl.constexpr, width: tl.constexpr):
    rows = tl.program_id(0) * height + tl.arange(0, height)
    cols = tl.arange(0, width)
    places = rows[:, None] * d + cols[None, :]
    mask = (rows[:, None] < count) & (cols[None, :] < d)
    values = tl.load(x + places, mask=mask, other=0.0).to(tl.float32)
    tl.store(y + rows, tl.sum(values, 1), mask=rows < count)


def run(x, y, d):
    count, height = y.numel(), 16
    # The sum of an empty row is 0.
    width = max(1, triton.next_power_of_2(d))
    kernel[(triton.cdiv(count, height),)](x, y, count, d, height, width)
