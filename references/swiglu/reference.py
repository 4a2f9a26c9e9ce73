import torch


def swiglu(gate, up):
    return torch.nn.functional.silu(gate) * up
