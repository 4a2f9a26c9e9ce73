"""A kernel in Python: `run` gets the operands by name and writes into `y`, or returns the result."""
import torch


def run(x, weight, y, eps):
    torch.mul(torch.nn.functional.rms_norm(x, (x.shape[-1],), eps=eps), weight, out=y)
