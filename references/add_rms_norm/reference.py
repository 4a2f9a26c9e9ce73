import torch


def add_rms_norm(x, residual, w, eps, dtype):
    total = x + residual
    stored = total.to(dtype).double()
    return total, stored * torch.rsqrt((stored * stored).mean(dim=-1, keepdim=True) + eps) * w
