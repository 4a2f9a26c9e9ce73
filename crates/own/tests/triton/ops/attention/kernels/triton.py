# /// script
# [tool.proofmark]
# summary = "one program for each head and block of queries, with a running maximum"
# dtypes = ["f32"]
# ///
"""o = softmax(scale · q kᵀ) v for each head."""

import triton
import triton.language as tl

@triton.jit
def kernel(
    q, k, v, o, queries, keys, d, scale, group,
    tall: tl.constexpr, wide: tl.constexpr, width: tl.constexpr,
):
    head = tl.program_id(1)
    rows = tl.program_id(0) * tall + tl.arange(0, tall)
    cols = tl.arange(0, width)
    mask = (rows[:, None] < queries) & (cols[None, :] < d)
    places = head * queries * d + rows[:, None] * d + cols[None, :]
    asked = tl.load(q + places, mask=mask, other=0.0)
    shared = head // group * keys * d
    most = tl.full((tall,), -float("inf"), dtype=tl.float32)
    weight = tl.zeros((tall,), dtype=tl.float32)
    total = tl.zeros((tall, width), dtype=tl.float32)
    for first in range(0, keys, wide):
        theirs = first + tl.arange(0, wide)
        inside = (theirs[:, None] < keys) & (cols[None, :] < d)
        at = shared + theirs[:, None] * d + cols[None, :]
        scores = tl.dot(asked, tl.trans(tl.load(k + at, mask=inside, other=0.0)), input_precision="ieee")
        scores = tl.where(theirs[None, :] < keys, scores * scale, -float("inf"))
        higher = tl.maximum(most, tl.max(scores, 1))
        # A query whose scores are all -infinity has no weight so far.
        shift = tl.where(higher == -float("inf"), 0.0, higher)
        powers = tl.exp(scores - shift[:, None])
        kept = tl.exp(most - shift)
        weight = weight * kept + tl.sum(powers, 1)
        values = tl.load(v + at, mask=inside, other=0.0).to(tl.float32)
        total = total * kept[:, None] + tl.dot(powers, values, input_precision="ieee")
        most = higher
    result = tl.where(weight[:, None] == 0.0, 0.0, total / weight[:, None])
    tl.store(o + places, result, mask=mask)


def run(q, k, v, o, scale):
    batch, heads, queries, d = q.shape
    group, keys = heads // k.shape[1], k.shape[2]
    scale = scale or d**-0.5
    grid = (triton.cdiv(queries, 32), batch * heads)
    width = max(16, triton.next_power_of_2(d))
    kernel[grid](q, k, v, o, queries, keys, d, scale, group, 32, 32, width)
