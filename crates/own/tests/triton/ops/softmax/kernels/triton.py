# /// script
# [tool.proofmark]
# summary = "one program for each block of rows"
# dtypes = ["f32", "f16"]
# ///
"""y = exp(x − max x) / Σ exp(x − max x) along each row."""

import triton
import triton.language as tl

@triton.jit
def kernel(x, y, count, d, height: tl.constexpr, width: tl.constexpr):
    rows = tl.program_id(0) * height + tl.arange(0, height)
    cols = tl.arange(0, width)
    places = rows[:, None] * d + cols[None, :]
    mask = (rows[:, None] < count) & (cols[None, :] < d)
    values = tl.load(x + places, mask=mask, other=-float("inf")).to(tl.float32)
    powers = tl.exp(values - tl.max(values, 1)[:, None])
    tl.store(y + places, powers / tl.sum(powers, 1)[:, None], mask=mask)


def run(x, y, d):
    count, height = x.numel() // d, 16
    kernel[(triton.cdiv(count, height),)](x, y, count, d, height, triton.next_power_of_2(d))
