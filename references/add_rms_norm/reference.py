import torch


def add_rms_norm(x, residual, w, eps):
    total = x + residual
    return total, total * torch.rsqrt((total * total).mean(dim=-1, keepdim=True) + eps) * w
