import torch


def layer_norm_grad(x, gamma, dy, eps):
    centred = x - x.mean(dim=-1, keepdim=True)
    inverse = torch.rsqrt((centred * centred).mean(dim=-1, keepdim=True) + eps)
    normal, scaled = centred * inverse, dy * gamma
    dx = inverse * (scaled - scaled.mean(dim=-1, keepdim=True) - normal * (scaled * normal).mean(dim=-1, keepdim=True))
    return dx, (dy * normal).sum(dim=(0, 1)), dy.sum(dim=(0, 1))
