"""A problem in the form of KernelBench, written for the tests."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, columns, groups):
        super().__init__()
        self.mix = nn.Linear(columns, columns)
        self.norm = nn.GroupNorm(groups, columns)

    def forward(self, x, keep):
        return self.norm(self.mix(x)) * keep


rows, columns = 8192, 1024 * 2
groups = 64
shape = (rows, columns)


def get_inputs():
    return [torch.rand(rows, columns), torch.randint(0, 2, shape).bool()]


def get_init_inputs():
    return [columns, groups]
