# /// script
# [tool.proofmark]
# summary = "one program for each tile of the result"
# dtypes = ["f32", "f16"]
# ///
"""C = A · B for each of a batch, in tiles."""

import triton
import triton.language as tl

@triton.jit
def kernel(a, b, c, m, n, k, tall: tl.constexpr, wide: tl.constexpr, deep: tl.constexpr):
    batch = tl.program_id(2)
    rows = tl.program_id(0) * tall + tl.arange(0, tall)
    cols = tl.program_id(1) * wide + tl.arange(0, wide)
    total = tl.zeros((tall, wide), dtype=tl.float32)
    for first in range(0, k, deep):
        terms = first + tl.arange(0, deep)
        left = tl.load(
            a + batch * m * k + rows[:, None] * k + terms[None, :],
            mask=(rows[:, None] < m) & (terms[None, :] < k),
            other=0.0,
        )
        right = tl.load(
            b + batch * k * n + terms[:, None] * n + cols[None, :],
            mask=(terms[:, None] < k) & (cols[None, :] < n),
            other=0.0,
        )
        total += tl.dot(left, right, input_precision="ieee")
    places = batch * m * n + rows[:, None] * n + cols[None, :]
    tl.store(c + places, total, mask=(rows[:, None] < m) & (cols[None, :] < n))


def run(a, b, c, m, n, k):
    tile = 64
    grid = (triton.cdiv(m, tile), triton.cdiv(n, tile), a.shape[0])
    kernel[grid](a, b, c, m, n, k, tile, tile, tile)
