# /// script
# [tool.proofmark]
# summary = "one program for each tile of the result, with a scale for each block of terms"
# dtypes = ["f32"]
# promises = { finite_only = true }
# ///
"""C = (A · scale_a) (B · scale_b)ᵀ of 8-bit elements, with scales for blocks."""

import triton
import triton.language as tl

@triton.jit
def kernel(
    a, scale_a, b, scale_b, c, m, n, k, across,
    tall: tl.constexpr, wide: tl.constexpr, block: tl.constexpr,
):
    rows = tl.program_id(0) * tall + tl.arange(0, tall)
    cols = tl.program_id(1) * wide + tl.arange(0, wide)
    total = tl.zeros((tall, wide), dtype=tl.float32)
    for part in range(0, across):
        terms = part * block + tl.arange(0, block)
        left = tl.load(
            a + rows[:, None] * k + terms[None, :],
            mask=(rows[:, None] < m) & (terms[None, :] < k),
            other=0.0,
        ).to(tl.float32)
        right = tl.load(
            b + cols[None, :] * k + terms[:, None],
            mask=(cols[None, :] < n) & (terms[:, None] < k),
            other=0.0,
        ).to(tl.float32)
        of_rows = tl.load(scale_a + rows * across + part, mask=rows < m, other=0.0)
        of_cols = tl.load(scale_b + cols // block * across + part, mask=cols < n, other=0.0)
        product = tl.dot(left, right, input_precision="ieee")
        total += product * of_rows[:, None] * of_cols[None, :]
    places = rows[:, None] * n + cols[None, :]
    tl.store(c + places, total, mask=(rows[:, None] < m) & (cols[None, :] < n))


def run(a, scale_a, b, scale_b, c, m, n, k, block):
    tile = 64
    grid = (triton.cdiv(m, tile), triton.cdiv(n, tile))
    kernel[grid](a, scale_a, b, scale_b, c, m, n, k, scale_a.shape[1], tile, tile, block)
