# Softmax over groups of `g` neighbouring columns with PyTorch. Its result is copied after the clock.
import torch


def run(x, g):
    return torch.softmax(x.unflatten(-1, (-1, g)), dim=-1).flatten(-2)
