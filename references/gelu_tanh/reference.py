import torch


def gelu_tanh(x):
    return torch.nn.functional.gelu(x, approximate="tanh")
