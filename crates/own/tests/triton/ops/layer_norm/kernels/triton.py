# /// script
# [tool.proofmark]
# summary = "one program for each block of rows, two passes over the values"
# dtypes = ["f32", "f16"]
# ///
"""y = (x − mean) · gamma / √(variance + eps) + beta along each row."""

import triton
import triton.language as tl

@triton.jit
def kernel(x, gamma, beta, y, count, d, eps, height: tl.constexpr, width: tl.constexpr):
    rows = tl.program_id(0) * height + tl.arange(0, height)
    cols = tl.arange(0, width)
    places = rows[:, None] * d + cols[None, :]
    mask = (rows[:, None] < count) & (cols[None, :] < d)
    values = tl.load(x + places, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(values, 1) / d
    centred = tl.where(mask, values - mean[:, None], 0.0)
    variance = tl.sum(centred * centred, 1) / d
    weights = tl.load(gamma + cols, mask=cols < d, other=0.0).to(tl.float32)
    shifts = tl.load(beta + cols, mask=cols < d, other=0.0).to(tl.float32)
    result = centred / tl.sqrt(variance + eps)[:, None] * weights[None, :] + shifts[None, :]
    tl.store(y + places, result, mask=mask)


def run(x, gamma, beta, y, d, eps):
    count, height = x.numel() // d, 16
    grid = (triton.cdiv(count, height),)
    kernel[grid](x, gamma, beta, y, count, d, eps, height, triton.next_power_of_2(d))
