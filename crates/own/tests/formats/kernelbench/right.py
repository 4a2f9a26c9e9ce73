"""A right answer whose parameters have other names and the same order."""
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns, groups):
        super().__init__()
        self.first = nn.Linear(columns, columns)
        self.second = nn.GroupNorm(groups, columns)

    def forward(self, x, keep):
        y = torch.addmm(self.first.bias, x, self.first.weight.T)
        return torch.where(keep, self.second(y), torch.zeros(()))
