"""A problem whose result is 0 whatever its input is."""
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        highest = x.max(dim=1, keepdim=True).values
        return highest - highest.mean(dim=1, keepdim=True)


rows = 64


def get_inputs():
    return [torch.randn(rows, 16)]
