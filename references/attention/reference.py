import torch


def attention(q, k, v, mask):
    shared = q.shape[1] // k.shape[1]
    k, v = (each.repeat_interleave(shared, dim=1) for each in (k, v))
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask == "causal":
        queries, keys = scores.shape[-2:]
        seen = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
        scores = scores.masked_fill(~seen, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v
