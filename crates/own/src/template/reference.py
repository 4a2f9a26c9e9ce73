import torch


def NAME(x, weight, eps):
    """The truth. It runs in f64; the parameters are operands, axes and attributes by name."""
    mean_of_squares = (x * x).mean(dim=-1, keepdim=True)
    return x * torch.rsqrt(mean_of_squares + eps) * weight
