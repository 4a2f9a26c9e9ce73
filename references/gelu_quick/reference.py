import torch


def gelu_quick(x):
    return x * torch.sigmoid(1.702 * x)
