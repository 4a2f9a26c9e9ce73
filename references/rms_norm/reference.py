import torch


def rms_norm(x, w, eps, variant):
    scale = 1 + w if variant == "gemma" else w
    return x * torch.rsqrt((x * x).mean(dim=-1, keepdim=True) + eps) * scale
