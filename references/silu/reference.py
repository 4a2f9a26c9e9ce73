import torch


def silu(x):
    return torch.nn.functional.silu(x)
