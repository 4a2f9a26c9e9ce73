"""Checks what transformer_layer wrote with PyTorch: python transformer_layer.py FOLDER."""

import os
import sys

import torch
import torch.nn.functional as F

HEADS, KV_HEADS, WIDTH, THETA, EPS = 16, 8, 128, 1e6, 1e-6
folder = sys.argv[1]


def read(name, *shape):
    values = bytearray(open(os.path.join(folder, name), "rb").read())
    return torch.frombuffer(values, dtype=torch.float32).reshape(*shape).double()


def norm(x, name):
    return F.rms_norm(x, x.shape[-1:], read(name, x.shape[-1]), EPS)


def linear(x, name):
    return F.linear(x, read(name, -1, x.shape[-1]))


def rotate(x, first):
    angles = torch.arange(first, first + x.shape[1])[:, None].double() * THETA ** (
        -torch.arange(WIDTH // 2).double() / (WIDTH // 2)
    )
    low, high = x.chunk(2, -1)
    return torch.cat([low * angles.cos() - high * angles.sin(),
                      high * angles.cos() + low * angles.sin()], -1)


def layer(x, cache):
    tokens, first = len(x), cache[0].shape[1]
    normed = norm(x, "attention_norm")
    q, k, v = (linear(normed, name).view(tokens, -1, WIDTH) for name in ("query", "key", "value"))
    q, k = norm(q, "query_norm").transpose(0, 1), norm(k, "key_norm").transpose(0, 1)
    q, k = rotate(q, first), rotate(k, first)
    cache[0] = torch.cat([cache[0], k], 1)
    cache[1] = torch.cat([cache[1], v.transpose(0, 1)], 1)
    total = cache[0].shape[1]
    mask = torch.ones(tokens, total).tril(total - tokens).bool()
    mixed = F.scaled_dot_product_attention(q, *cache, attn_mask=mask, enable_gqa=True)
    residual = x + linear(mixed.transpose(0, 1).reshape(tokens, -1), "out")
    normed = norm(residual, "feed_norm")
    return residual + linear(F.silu(linear(normed, "gate")) * linear(normed, "up"), "down")


hidden = read("attention_norm", -1).shape[0]
cache = [torch.zeros(KV_HEADS, 0, WIDTH).double() for _ in range(2)]
with torch.inference_mode():
    prefill = layer(read("prompt", -1, hidden), cache)
    decoded = torch.cat([layer(token[None], cache) for token in read("tokens", -1, hidden)])
worst = 0.0
for name, truth in (("prefill", prefill), ("decoded", decoded)):
    got = read(name, *truth.shape)
    error = ((got - truth).norm() / truth.norm()).item()
    print(f"{name}: error against PyTorch in f64 {error:.2e}")
    worst = max(worst, error)
sys.exit(0 if worst < 1e-5 else 1)
