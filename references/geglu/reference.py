import torch


def geglu(gate, up):
    return torch.nn.functional.gelu(gate, approximate="tanh") * up
