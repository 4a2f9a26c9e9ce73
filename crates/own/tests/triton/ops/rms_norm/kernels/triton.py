# /// script
# [tool.proofmark]
# summary = "one program for each block of rows"
# dtypes = ["f32", "f16"]
# ///
"""y = x · w / √(mean(x²) + eps) along each row."""

import triton
import triton.language as tl

@triton.jit
def kernel(x, w, y, count, d, eps, height: tl.constexpr, width: tl.constexpr):
    rows = tl.program_id(0) * height + tl.arange(0, height)
    cols = tl.arange(0, width)
    places = rows[:, None] * d + cols[None, :]
    mask = (rows[:, None] < count) & (cols[None, :] < d)
    values = tl.load(x + places, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(values * values, 1) / d
    weights = tl.load(w + cols, mask=cols < d, other=0.0).to(tl.float32)
    result = values / tl.sqrt(mean + eps)[:, None] * weights[None, :]
    tl.store(y + places, result, mask=mask)


def run(x, w, y, d, eps):
    count, height = x.numel() // d, 16
    kernel[(triton.cdiv(count, height),)](x, w, y, count, d, eps, height, triton.next_power_of_2(d))
