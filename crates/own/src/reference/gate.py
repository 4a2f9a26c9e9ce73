"""The measure q of the gate, and sets of inputs, for the catalogue of wrong kernels."""
import math

import torch

import proofmark_call as calls

DIGITS = {torch.float32: (23, -126), torch.float16: (10, -14), torch.bfloat16: (7, -126), torch.float64: (52, -1022)}
FILLS = ("normal", "uniform", "positive", "offset", "small", "large", "integer", "graded")
ZERO_MEAN = ("normal", "uniform", "small")
ENOUGH = 64                                          # elements that a root mean square means something for


def fill(kind, operand, generator):
    """Values of one kind for an operand, as f64 that its type can hold."""
    shape = operand["shape"]
    if operand["dtype"] in calls.WHOLE:
        top = operand.get("below", 1)
        return torch.randint(0, max(1, top), shape, generator=generator).double()
    x = torch.randn(shape, generator=generator, dtype=torch.float64)
    flat = lambda: torch.rand(shape, generator=generator, dtype=torch.float64)
    if kind == "uniform":
        x = 2 * flat() - 1
    elif kind == "positive":
        x = flat()
    elif kind == "offset":
        x = x + 50
    elif kind == "small":
        x = x * 1e-3
    elif kind == "large":
        x = x * 30
    elif kind == "integer":
        x = (x * 2).round().clamp(-4, 4)
    elif kind == "graded":
        x = x * torch.exp2(8 * (2 * flat() - 1))
    return x.to(calls.REAL.get(operand["dtype"], torch.float32)).double()


def measure(got, truth, u):
    """q of each element; infinite where a number is due and there is none, or the reverse."""
    digits, least = DIGITS.get(got.dtype, (None, None))
    value, wide = truth.value, got.double()
    if digits is None:                               # integers are exact
        half, smallest, due = 0.0, 0.0, value
    else:
        exponent = (torch.frexp(value)[1] - 1).clamp_min(least)
        half = torch.exp2((exponent - digits - 1).double())
        smallest = 2.0 ** (least - digits)
        due = value.to(got.dtype).double()
    q = ((wide - value).abs() - half).clamp_min(0) / (u * truth.scale + smallest)
    same = (wide == due) | (wide.isnan() & value.isnan()) | (truth.scale == math.inf)
    return torch.where(same, 0.0, torch.where(q.isnan(), math.inf, q))


def accepts(q, terms, zero_mean):
    """The gate's limits for one output."""
    if q.numel() == 0:
        return True
    if zero_mean:
        rms = float((q.clamp_max(1e30) ** 2).mean().sqrt())
        return float(q.max()) <= 16 and (rms <= 2 or q.numel() < ENOUGH)
    return bool(q.max() <= 16 * (1 + math.sqrt(terms) / 4))
