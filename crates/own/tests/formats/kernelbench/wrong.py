"""A wrong answer: it forgets what is not kept in the last column."""
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns, groups):
        super().__init__()
        self.mix = nn.Linear(columns, columns)
        self.norm = nn.GroupNorm(groups, columns)

    def forward(self, x, keep):
        y = self.norm(self.mix(x))
        y[:, :-1] *= keep[:, :-1]
        return y
