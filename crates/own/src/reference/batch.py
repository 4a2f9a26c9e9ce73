"""Runs a primitive on all samples: in one call where that is simple, else sample by sample."""
import math

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

import proofmark_rules as rules

aten = torch.ops.aten
BY_DIM = set("sum mean amax amin any all prod max min cumsum cumprod argmax argmin sort topk".split())
BY_ALL = {"sum": aten.sum.dim_IntList, "mean": aten.mean.dim, "max": aten.amax.default, "min": aten.amin.default}
FOLDED = ("pool", "pad", "upsample", "pixel_shuffle", "im2col")


class Stack:
    """One tensor argument: with a leading sample axis if `spread`."""
    __slots__ = ("data", "spread")

    def __init__(self, data, spread):
        self.data, self.spread = data, spread

    def dim(self):
        return self.data.dim() - self.spread


def run(func, name, filled, samples):
    """The primitive's result with a leading sample axis. Tensors in `filled` are given as `Stack`."""
    args, kwargs = filled
    out = None
    if rules.family(func) == "pointwise" or name == "clone" or name == "_to_copy":
        out = _pointwise(func, args, kwargs)
    elif name in ("mm", "bmm"):
        out = torch.matmul(args[0].data, args[1].data)
    elif name in BY_DIM and args[0].dim() and not kwargs.get("dtype"):
        out = _along(func, name, args, kwargs)
    elif name == "convolution":
        out = _convolution(func, args)
    elif any(part in name for part in FOLDED):
        out = _folded(func, name, args, kwargs)
    return _each(func, filled, samples) if out is None else out


def _pointwise(func, args, kwargs):
    """Broadcasting aligns the last axes, so the sample axis goes before the widest argument."""
    flat, spec = tree_flatten((args, kwargs))
    rank = max(x.dim() for x in flat if isinstance(x, Stack))

    def aligned(x):
        if not isinstance(x, Stack):
            return x
        return x.data[(slice(None),) + (None,) * (rank - x.dim())] if x.spread else x.data
    given, named = tree_unflatten([aligned(x) for x in flat], spec)
    if isinstance(named.get("memory_format"), torch.memory_format):
        named = {**named, "memory_format": torch.contiguous_format}
    return func(*given, **named)


def _along(func, name, args, kwargs):
    """Reductions and scans along named axes: the axes move by one."""
    x = args[0]
    if func._overloadname in ("default", "") and name in BY_ALL:
        return BY_ALL[name](x.data, list(range(1, x.data.dim())))
    names = [a.name for a in func._schema.arguments if not a.kwarg_only]
    if "dim" not in names:
        return None
    full, named = rules.positional(func, args, kwargs)
    at = names.index("dim")
    dim = full[at]
    if dim is None or dim == []:
        if "int[]" not in str(func._schema.arguments[at].type) and "List[int]" not in str(func._schema.arguments[at].type):
            return None
        dim = list(range(x.dim()))
    move = lambda d: d % x.dim() + 1
    full[0], full[at] = x.data, move(dim) if isinstance(dim, int) else [move(d) for d in dim]
    return func(*full, **named)


def _convolution(func, args):
    x, weight, bias = args[:3]
    if weight.spread or (bias is not None and bias.spread) or x.dim() != weight.dim():
        return None
    out = func(x.data.flatten(0, 1), weight.data, None if bias is None else bias.data, *args[3:])
    return out.unflatten(0, x.data.shape[:2])


def _folded(func, name, args, kwargs):
    """Samples join the batch axis of an image."""
    digits = [c for c in name if c.isdigit()]
    spatial = int(digits[0]) if digits else 2
    x = args[0]
    if x.dim() < spatial + 2 and name != "constant_pad_nd":
        return None
    if name == "constant_pad_nd" and len(args[1]) // 2 >= x.dim():
        return None
    out = func(x.data.flatten(0, 1), *args[1:], **kwargs)
    back = lambda t: t.unflatten(0, x.data.shape[:2])
    return back(out) if isinstance(out, torch.Tensor) else tuple(back(t) for t in out)


def _each(func, filled, samples):
    flat, spec = tree_flatten(filled)
    results = []
    for s in range(samples):
        at = [(x.data[s] if x.spread else x.data) if isinstance(x, Stack) else x for x in flat]
        given, named = tree_unflatten(at, spec)
        results.append(tree_flatten(func(*given, **named)))
    shape = results[0][1]
    columns = []
    for column in zip(*(r[0] for r in results)):
        if isinstance(column[0], torch.Tensor):
            if any(c.shape != column[0].shape for c in column):
                raise ValueError(f"the shape of the result of {func} depends on rounding")
            columns.append(torch.stack(column))
        else:
            columns.append(column[0])
    return tree_unflatten(columns, shape)
