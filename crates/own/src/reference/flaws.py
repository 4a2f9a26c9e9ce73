"""What can be wrong with a primitive, an input or an output."""
import math

import torch

import proofmark_rules as rules

aten = torch.ops.aten
SWAPS = set("sub div pow where atan2 rsub fmod remainder".split())
OTHER = {
    "exp": ("exp2", "exp2 stands for exp."),
    "log": ("log2", "log2 stands for log."),
    "amax": ("amin", "The minimum stands for the maximum."),
    "amin": ("amax", "The maximum stands for the minimum."),
    "maximum": ("minimum", "The minimum stands for the maximum."),
    "minimum": ("maximum", "The maximum stands for the minimum."),
    "gt": ("ge", "The comparison admits equality."),
    "ge": ("gt", "The comparison excludes equality."),
    "lt": ("le", "The comparison admits equality."),
    "le": ("lt", "The comparison excludes equality."),
    "sin": ("cos", "cos stands for sin."),
    "cos": ("sin", "sin stands for cos."),
    "floor": ("ceil", "ceil stands for floor."),
    "ceil": ("floor", "floor stands for ceil."),
    "round": ("trunc", "The value is cut off, not rounded."),
    "sqrt": ("square", "The square stands for the root."),
    "relu": ("abs", "The magnitude stands for the positive part."),
}


def _tf32(x):
    bits = x.float().view(torch.int32)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)


PRECISION = {"bf16": lambda x: x.bfloat16().float(), "f16": lambda x: x.half().float(), "tf32": _tf32}
APPROXIMATIONS = {
    "tanh": lambda x: (x * (27 + x * x) / (27 + 9 * x * x)).clamp(-1, 1),
    "erf": lambda x: torch.tanh(1.1283791671 * (x + 0.08943 * x ** 3)),
    "sigmoid": lambda x: (x / 6 + 0.5).clamp(0, 1),
    "exp": lambda x: torch.exp2((x * 1.4426950409).floor()) * _pow2_cubic(x * 1.4426950409),
    "rsqrt": lambda x: _tf32(torch.rsqrt(x)),
    "reciprocal": lambda x: _tf32(1 / x),
    "log": lambda x: torch.log(x * 1.0001),
    "sqrt": lambda x: _tf32(torch.sqrt(x)),
}


def _pow2_cubic(y):
    f = y - y.floor()
    return 1 + f * (0.6951786 + f * (0.2262736 + f * 0.0785477))


def fits(wrong, right):
    """Does the flaw give a result of the right shape?"""
    try:
        return wrong().shape == right.shape
    except Exception:
        return False


def of_primitive(func, name, args, kwargs, right):
    """Flaws as (name, sentence, how to compute the wrong result)."""
    kind, label = rules.family(func), f"aten.{name}"
    if rules.is_real(right):
        yield "factor", f"The result of {label} is 1.001 times too large.", lambda: right * 1.001
        yield "bf16", f"The result of {label} is rounded to bf16.", lambda: PRECISION["bf16"](right)
        if kind in ("sum", "contraction"):
            yield "f16", f"The result of {label} is rounded to f16.", lambda: PRECISION["f16"](right)
    if kind == "pointwise":
        yield from _of_pointwise(func, name, label, args, kwargs, right)
    if kind in ("sum", "selection", "product"):
        yield from _of_reduction(func, name, label, args, kwargs)
    if kind == "contraction":
        yield from _of_contraction(func, name, label, args, kwargs)
    if name in OTHER and hasattr(getattr(aten, OTHER[name][0]), func._overloadname):
        other, text = OTHER[name]
        yield "function", text, lambda: getattr(getattr(aten, other), func._overloadname)(*args, **kwargs)
    if name in APPROXIMATIONS:
        yield "approximate", f"{label} is a short approximation.", lambda: APPROXIMATIONS[name](args[0])


def _of_pointwise(func, name, label, args, kwargs, right):
    again = lambda i, v: func(*[v if j == i else a for j, a in enumerate(args)], **kwargs)
    for i, a in enumerate(args):
        if isinstance(a, bool) or not isinstance(a, (int, float)) or not math.isfinite(a):
            continue
        at = "" if i < 2 else str(i)
        if 0 < abs(a) < 1e-2:
            yield f"eps0{at}", f"The constant {a:g} of {label} is 0.", lambda i=i: again(i, 0.0)
            yield f"eps10{at}", f"The constant {a:g} of {label} is 10 times as large.", lambda i=i, a=a: again(i, a * 10)
        else:
            yield f"double{at}", f"The constant {a:g} of {label} is doubled.", lambda i=i, a=a: again(i, a * 2)
            yield f"plus1{at}", f"The constant {a:g} of {label} is larger by 1.", lambda i=i, a=a: again(i, a + 1)
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    if name in ("add", "sub", "mul", "div") and len(args) > 1:
        yield "dropped", f"The second operand of {label} is left out.", lambda: args[0].expand(right.shape) + 0
    if name == "add" and len(tensors) == 2:
        yield "negated", f"The second operand of {label} has the wrong sign.", lambda: args[0] - args[1]
    if name in SWAPS and len(tensors) >= 2:
        order = (0, 2, 1) if name == "where" else (1, 0)
        yield "swapped", f"The operands of {label} are exchanged.", lambda: func(*[args[i] for i in order], **kwargs)
    if name in ("clamp", "clamp_min", "clamp_max", "where", "masked_fill", "maximum", "minimum"):
        source = args[1] if name == "where" else args[0]
        yield "ignored", f"{label} is left out.", lambda: source.expand(right.shape) + 0


def _dim_of(func, args, kwargs):
    for i, a in enumerate(func._schema.arguments):
        if a.name == "dim":
            d = args[i] if i < len(args) else kwargs.get("dim", a.default_value)
            return i, d
    return None, None


def _of_reduction(func, name, label, args, kwargs):
    x = args[0]
    place, dim = _dim_of(func, args, kwargs)
    dims = [dim] if isinstance(dim, int) else list(dim or range(x.dim()))
    if x.dim() and dims and "pool" not in name:
        last = dims[-1] % x.dim()
        n = x.shape[last]
        if n > 1:
            neutral = -math.inf if name in ("amax", "max") else math.inf if name in ("amin", "min") else \
                1.0 if rules.family(func) == "product" else 0.0

            def shorter(cut):
                y = x.clone()
                y.narrow(last, n - cut, cut).fill_(neutral)
                return func(y, *args[1:], **kwargs)
            yield "tail", f"{label} leaves out its last term.", lambda: shorter(1)
            if n > 8:
                yield "block", f"{label} leaves out its last {n % 8 or 8} terms.", lambda: shorter(n % 8 or 8)
        if name == "mean":
            yield "divisor", f"{label} divides by one less.", lambda: func(*args, **kwargs) * (n / max(1, n - 1))
    if place is not None and place < len(args) and len(dims) == 1 and x.dim() > 1:
        other = (dims[0] - 1) % x.dim()
        moved = [other] if not isinstance(dim, int) else other
        yield "axis", f"{label} reduces axis {other}.", \
            lambda: func(*[moved if i == place else a for i, a in enumerate(args)], **kwargs)


def _of_contraction(func, name, label, args, kwargs):
    a, b, rest = args[0], args[1], args[2:]
    yield "tf32", f"{label} rounds its operands to tf32.", lambda: func(_tf32(a), _tf32(b), *rest, **kwargs)
    yield "bf16in", f"{label} rounds its operands to bf16.", \
        lambda: func(PRECISION["bf16"](a), PRECISION["bf16"](b), *rest, **kwargs)
    axis = 1 if name == "convolution" else a.dim() - 1
    n = a.shape[axis]

    def shorter(cut):
        y = a.clone()
        y.narrow(axis, n - cut, cut).zero_()
        return func(y, b, *rest, **kwargs)
    if n > 1:
        yield "tail", f"{label} leaves out the last index of its sum.", lambda: shorter(1)
    if n > 8:
        yield "block", f"{label} leaves out the last {n % 8 or 8} indices of its sum.", lambda: shorter(n % 8 or 8)
    if name in ("mm", "bmm") and a.shape == b.shape and a.shape[-1] == a.shape[-2]:
        yield "swapped", f"The operands of {label} are exchanged.", lambda: func(b, a, *rest, **kwargs)
        yield "transposed", f"The second operand of {label} is transposed.", \
            lambda: func(a, b.transpose(-1, -2), *rest, **kwargs)


def of_output(y):
    """Flaws of a whole output, by name: a sentence and how to compute it."""
    def changed(change):
        def wrong():
            z = y.clone()
            change(z)
            return z
        return wrong
    found = {"zeros": ("All results are 0.", lambda: torch.zeros_like(y)),
             "constant": ("All results are the mean result.", lambda: torch.full_like(y, float(y.double().mean())
                                                                                 if y.is_floating_point() else 1))}
    if y.is_floating_point():
        found["factor"] = ("All results are 1.001 times too large.", lambda: (y.double() * 1.001).to(y.dtype))
        found["ulps"] = ("The last element is off by 64 ulp.", changed(lambda z: _nudge(z.view(-1)[-1:])))
    if y.numel() > 1:
        found["last"] = ("The last element is not written.", changed(lambda z: z.view(-1)[-1:].copy_(z.view(-1)[:1])))
        found["shifted"] = ("Each result is written one element too far.", lambda: y.reshape(-1).roll(1).reshape(y.shape))
    if y.dim() and y.numel() > y.shape[-1] > 0:
        rows = lambda z: z.view(-1, z.shape[-1])
        found["row"] = ("The last row is stale.", changed(lambda z: rows(z)[-1].copy_(rows(z)[0])))
        found["exchanged"] = ("The first and the last row are exchanged.",
                              changed(lambda z: _exchange(rows(z))))
    if y.numel() > 16:
        found["tile"] = ("Only the first 16 elements are written.", changed(lambda z: z.view(-1)[16:].zero_()))
    if y.dim() > 1 and y.shape[-1] == y.shape[-2] > 1:
        found["transposed"] = ("The result is transposed.", lambda: y.transpose(-1, -2).contiguous())
    return found


def _exchange(rows):
    first = rows[0].clone()
    rows[0] = rows[-1]
    rows[-1] = first


def _nudge(z):
    digits = {torch.float32: 23, torch.float64: 52, torch.float16: 10, torch.bfloat16: 7}[z.dtype]
    exponent = torch.frexp(z.double())[1] - 1 - digits
    z.copy_((z.double() + 64 * torch.exp2(exponent.double())).to(z.dtype))
