"""Value and error scale of a reference, by running it many times at once in f64.

Sample 0 of a run is exact: it is the value. In the other samples, each primitive's result moves by
`AMPLITUDE * u * normal() * rounding`, where `rules.rounding` says how large the primitive's own
rounding is. The scale of an output element is the root mean square of its deviation from sample 0,
over `AMPLITUDE * u`. The amplitude does not matter where the response is linear. Where the result
jumps close by (round, a comparison, a tie in top-k), a right kernel may land on the other side.
With the amplitude 3 and 24 samples, one sample on the other side makes q = 3 * sqrt(24) = 14.7,
which is within the gate's limit of 16; larger amplitudes find more jumps but no longer admit them.

A rounded result that is used again moves again: a fused kernel may compute it anew, so that
`x - mean(x)` of a single x need not be 0.

Casts to f32 and f64 change nothing. A cast to f16 or bf16 is not performed: its result, and what is
computed from such results alone, moves by that type's unit roundoff in addition. Casts to integers
and to 8-bit floats are performed.
"""
import functools
import random
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

import proofmark_batch as batch
import proofmark_rules as rules
from proofmark_textbook import TEXTBOOK

AMPLITUDE = 3.0
RUNS = 24                                            # samples beside the exact one
PASSES = 3                                           # in which the samples of large inputs are run, for memory
LARGE = 1 << 17                                      # elements that make inputs large
POOL = 1 << 21                                       # normal numbers, of which every primitive takes a random stretch
COARSE = {torch.float16: 2.0 ** -11, torch.bfloat16: 2.0 ** -8}
FULL = (torch.float32, torch.float16, torch.bfloat16)
aten = torch.ops.aten
COMPLEX_VIEWS = (aten.view_as_real.default, aten.view_as_complex.default)
_pool = torch.empty(0, dtype=torch.float64)


def normal_numbers(least):
    """At least so many normal numbers; the same ones in every run and in whatever order runs come."""
    global _pool
    blocks = max(1, -(-least // POOL))
    if len(_pool) < blocks * POOL:
        made = range(len(_pool) // POOL, blocks)
        _pool = torch.cat([_pool] + [torch.randn(POOL, generator=torch.Generator().manual_seed(i), dtype=torch.float64)
                                     for i in made])
    return _pool[:blocks * POOL]


@functools.lru_cache(None)
def nature(func):
    """A primitive's name, its textbook form if it has one, and how it is to be run."""
    name = func._schema.name.split("::")[1]
    written = TEXTBOOK.get(f"{name}.{func._overloadname}")
    if func.namespace != "aten":
        return name, None, "foreign"
    if written is not None:
        return name, written, "textbook"
    if name == "_local_scalar_dense":
        return name, None, "number"
    if torch.Tag.nondeterministic_seeded in func.tags:
        return name, None, "random"
    if func._schema.is_mutable:
        return name, None, "in_place"
    if any(r.alias_info is not None for r in func._schema.returns):
        return name, None, "view"
    return name, None, "value"


class Unknown(Exception):
    """The reference uses a primitive that has no rule."""

    def __init__(self, name, why="it has no rule of rounding"):
        super().__init__(f"the reference uses {name}: {why}")
        self.name, self.why = name, why


class Cell:
    """What the views of one storage have in common."""
    __slots__ = ("holds", "rounded", "uses")

    def __init__(self, rounded=False):
        self.holds, self.rounded, self.uses = [], rounded, 0


class Hold:
    """The samples behind one tensor: `data` has a leading sample axis if `spread`, else it is exact."""
    __slots__ = ("data", "spread", "cell", "coarse", "__weakref__")

    def __init__(self, data, spread, cell=None, coarse=0.0):
        self.data, self.spread, self.coarse = data, spread, coarse
        self.cell = cell or Cell()
        self.cell.holds.append(weakref.ref(self))

    def clean(self):
        return self.data[0] if self.spread else self.data


class Sampled(torch.Tensor):
    """A tensor as the reference sees it: of the shape of one sample."""

    @staticmethod
    def __new__(cls, hold):
        one = hold.clean()
        self = torch.Tensor._make_wrapper_subclass(
            cls, one.shape, strides=one.stride(), storage_offset=one.storage_offset(), dtype=one.dtype)
        self.hold = hold
        return self

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError(f"{func} on a sampled tensor outside of its run")

    def __repr__(self, *, tensor_contents=None):
        return f"Sampled({tuple(self.shape)}, {self.dtype})"


class Carry(TorchDispatchMode):
    """Runs a reference on samples; knows which primitives it met."""

    def __init__(self, u, seed=0, runs=RUNS):
        super().__init__()
        self.samples = 1 + runs
        self.units, self.random = rules.Units(u), random.Random(seed)
        self.amplitude = torch.tensor([0.0] + [AMPLITUDE] * runs, dtype=torch.float64)
        self.primitives, self.unknown, self.notes, self.terms = {}, {}, {}, 1
        self.lists = False                           # only list what has no rule
        self.observe = None                          # is told of each real result: name, value, size of the rounding

    @classmethod
    def _should_skip_dynamo(cls):
        return False                                 # the compiler's import takes seconds and is not needed

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.run(func, args, kwargs or {})

    # ------------------------------------------------------------------ one primitive
    def run(self, func, args, kwargs):
        name, written, kind = nature(func)
        if kind == "textbook":
            try:
                with self:
                    return written(*args, **kwargs)
            except NotImplementedError as e:
                return self.refuse(func, args, kwargs, str(e))
        if kind == "foreign":
            return self.refuse(func, args, kwargs, "it is no primitive of PyTorch")
        if kind == "number":
            hold = self.hold(args[0])
            if hold.spread:
                self.notes["branch"] = "the reference reads a rounded number from a tensor; the exact run decides it"
            return func(hold.clean())
        if kind == "random":
            return self.refuse(func, args, kwargs, "it draws random numbers, so there is no one truth")
        if kind == "in_place":
            return self.in_place(func, name, args, kwargs)
        if kind == "view":
            return self.view(func, args, kwargs)
        if rules.family(func) is None:
            return self.decomposed(func, args, kwargs)
        if name in ("topk", "sort"):
            args = self.tied(func, args, kwargs)
        return self.compute(func, name, args, kwargs)

    def compute(self, func, name, args, kwargs):
        self.primitives.setdefault("aten." + name, None)
        coarse, kwargs = self.cast(func, kwargs)
        flat, spec = tree_flatten((args, kwargs))
        holds = [self.used(x) if isinstance(x, torch.Tensor) else None for x in flat]
        reals = [h for h in holds if h is not None and rules.is_real(h.data)]
        if coarse is None:
            full = [h.coarse for h in reals if h.data.dim() > h.spread]
            coarse = min(full) if full else 0.0
        is_spread = any(h is not None and h.spread for h in holds)
        clean = tree_unflatten([h.clean() if h else x for h, x in zip(holds, flat)], spec)
        if is_spread:
            filled = tree_unflatten([batch.Stack(h.data, h.spread) if h else x for h, x in zip(holds, flat)], spec)
            try:
                out = batch.run(func, name, filled, self.samples)
            except Exception:
                func(*clean[0], **clean[1])          # tells of the reference's own shapes
                raise
        else:
            out = func(*clean[0], **clean[1])
        rounded = any(h.cell.rounded for h in reals) and name not in rules.WHOLE
        single = isinstance(out, torch.Tensor)
        if single and rules.is_real(out):
            value = out[0] if is_spread else out
            full, named = rules.positional(func, *clean)
            size, terms = rules.rounding(func, full, named, value, self.units)
            self.terms = max(self.terms, terms)
            if size is not None and not rounded and name in ("add", "sub", "mul") and all(map(rules.is_whole, full[:2])):
                size = None                          # integers are added and multiplied exactly
            if self.observe is not None:
                self.observe(name, value, size)
            if size is not None or coarse:
                out = self.moved(out, is_spread, size, coarse, value)
                is_spread = rounded = True
        wrap = lambda t: Sampled(Hold(t, is_spread, Cell(rounded), coarse if rules.is_real(t) else 0.0))
        return wrap(out) if single else tree_map(lambda t: wrap(t) if isinstance(t, torch.Tensor) else t, out)

    def cast(self, func, kwargs):
        """Floating types become f64. Returns the unit of a cast to a coarse type, None if there is no cast."""
        asked = kwargs.get("dtype")
        if kwargs.get("device") is not None:
            kwargs = {**kwargs, "device": torch.device("cpu")}
        if asked in FULL or asked == torch.complex64:
            kwargs = {**kwargs, "dtype": torch.float64 if asked in FULL else torch.complex128}
        if asked is not None and func is aten._to_copy.default:
            if asked in COARSE:
                self.notes["coarse"] = "a cast to f16 or bf16 counts as noise of that type"
            return COARSE.get(asked, 0.0), kwargs
        return None, kwargs

    def decomposed(self, func, args, kwargs):
        from torch._decomp import decomposition_table
        rule = decomposition_table.get(func)
        with self:
            if rule is not None:
                return rule(*args, **kwargs)
            if func.namespace == "aten":
                out = func.decompose(*args, **kwargs)
                if out is not NotImplemented:
                    return out
        return self.refuse(func, args, kwargs, "it has no rule of rounding")

    def refuse(self, func, args, kwargs, why):
        """Raises, or where a run is only to list primitives, goes on without a rule."""
        if not self.lists:
            raise Unknown(str(func), why)
        self.unknown.setdefault(str(func), why)
        clean = tree_map(lambda x: self.hold(x).clean() if isinstance(x, torch.Tensor) else x, (args, kwargs))
        wrap = lambda t: Sampled(Hold(t, False)) if isinstance(t, torch.Tensor) else t
        return tree_map(wrap, func(*clean[0], **self.cast(func, clean[1])[1]))

    # ------------------------------------------------------------------ storage
    def hold(self, x):
        """The samples of any tensor. One from outside of the run is exact."""
        if isinstance(x, Sampled):
            return x.hold
        return Hold(x.detach().double() if x.dtype in FULL else x.detach(), False)

    def used(self, x):
        """The samples for one use: a rounded result moves again from its second use on."""
        hold = self.hold(x)
        cell = hold.cell
        cell.uses += 1
        if not (cell.rounded and cell.uses > 1 and hold.spread and rules.is_real(hold.data)):
            return hold
        clean = hold.clean()
        again = Hold(self.moved(hold.data, True, clean.abs(), 0.0, clean, fresh=False), True, None, hold.coarse)
        again.cell.rounded = True
        return again

    def view(self, func, args, kwargs):
        base = self.hold(args[0])
        if func in COMPLEX_VIEWS:
            return Sampled(Hold(func(base.data), base.spread, base.cell, base.coarse))
        out = func(base.clean(), *args[1:], **kwargs)

        def wrap(t):
            if t.dtype != base.data.dtype and base.spread:
                raise Unknown(str(func), "a view as another type is not supported")
            whole = t if not base.spread else base.data.as_strided(
                (self.samples, *t.shape), (base.data.stride(0), *t.stride()), t.storage_offset())
            return Sampled(Hold(whole, base.spread, base.cell, base.coarse))
        return tree_map(lambda t: wrap(t) if isinstance(t, torch.Tensor) else t, out)

    def in_place(self, func, name, args, kwargs):
        target = args[0] if args else None
        if not name.endswith("_") or name in ("set_", "resize_") or not isinstance(target, torch.Tensor):
            raise Unknown(str(func), "it changes a tensor in a way that is not supported")
        if torch.Tag.inplace_view in func.tags and isinstance(target, Sampled):
            target.hold = self.run(out_of_place(func, name[:-1]), args, kwargs).hold
            with torch._C._DisableTorchDispatch():   # the shape that the reference sees
                func(*args, **kwargs)
            return target
        if name == "copy_":
            result = args[1]
        else:
            plain = {"_index_put_impl_": "index_put"}.get(name, name[:-1])
            kept = {k: v for k, v in kwargs.items() if k != "unsafe"}
            result = self.run(out_of_place(func, plain), args[:4] if plain == "index_put" else args, kept)
        self.write(func, target, self.hold(result))
        return target

    def write(self, func, target, new):
        if not isinstance(target, Sampled):
            if new.spread:
                raise Unknown(str(func), "it changes a tensor that the reference did not make")
            target.detach().copy_(new.data)
            return
        old = target.hold
        if new.spread and not old.spread:
            self.spread_cell(old)
        data = new.data
        if new.spread:
            data = data[(slice(None),) + (None,) * (old.data.dim() - data.dim())]
        old.data.copy_(data)
        old.cell.rounded, old.cell.uses, old.coarse = old.cell.rounded or new.cell.rounded, 0, max(old.coarse, new.coarse)

    def spread_cell(self, one):
        """Gives every sample a copy of a storage; all its views follow."""
        size = one.data.untyped_storage().nbytes() // one.data.element_size()
        whole = one.data.as_strided((size,), (1,), 0).expand(self.samples, size).clone()
        for hold in filter(None, (ref() for ref in one.cell.holds)):
            if not hold.spread:
                t = hold.data
                hold.data = whole.as_strided((self.samples, *t.shape), (size, *t.stride()), t.storage_offset())
                hold.spread = True

    # ------------------------------------------------------------------ noise
    def add_noise(self, data, size, unit):
        """Adds `AMPLITUDE * unit * normal() * size` to every sample but the exact one, in place."""
        if data.is_complex():
            data, size = torch.view_as_real(data), size.unsqueeze(-1)
        shape, count = data.shape[1:], data[0].numel()
        pool = normal_numbers(2 * count)
        if data.numel() <= len(pool) // 2:
            start = self.random.randrange(len(pool) - data.numel() + 1)
            noise = pool[start:start + data.numel()].view(data.shape) * size
            data.addcmul_(noise, self.amplitude.view(-1, *[1] * len(shape)) * unit)
            return
        for sample in data[1:]:                      # large tensors one by one, without a temporary
            start = self.random.randrange(len(pool) - count + 1)
            sample.addcmul_(pool[start:start + count].view(shape), size, value=AMPLITUDE * unit)

    def moved(self, data, spread, size, coarse, clean, fresh=True):
        """`data` with noise of `size` units of u, and of `coarse` relative to the value."""
        if not spread:
            data = data.expand(self.samples, *data.shape).clone()
        elif not fresh:
            data = data.clone()
        if size is not None:
            self.add_noise(data, torch.where(size.isfinite(), size, 0.0), self.units.u)
        if coarse:
            self.add_noise(data, torch.where(clean.isfinite(), clean.abs(), 0.0), coarse)
        return data

    def tied(self, func, args, kwargs):
        """Lets noise decide between equal keys where the primitive's order of ties is not defined."""
        x = self.hold(args[0])
        if kwargs.get("stable") or not rules.is_real(x.data):
            return args
        clean = x.clean()
        jitter = self.moved(x.data, x.spread, clean.abs() * 2.0 ** -20 + 1e-290, 0.0, clean, fresh=False)
        if not x.spread and torch.equal(jitter.argsort(-1), x.data.argsort(-1).expand(jitter.shape)):
            return args                              # no ties
        return (Sampled(Hold(jitter, True, Cell(True), x.coarse)), *args[1:])


def out_of_place(func, name):
    """The primitive `name` that takes what the in-place `func` takes."""
    packet = getattr(aten, name, None)
    types = lambda f: [str(a.type) for a in f._schema.arguments][:4]
    for overload in [func._overloadname, *packet.overloads()] if packet is not None else []:
        found = getattr(packet, overload, None)
        if found is not None and not found._schema.is_mutable and types(found) == types(func):
            return found
    raise Unknown(str(func), "there is no such primitive that leaves its arguments alone")


class Truth:
    """What runs of the reference say about one output."""

    def __init__(self, value, scale):
        self.value, self.scale = value, scale


def truth(call, inputs, u, seed=0, lists=False, observe=None):
    """Runs `call(*inputs)` in f64. Returns a Truth for each output, and the Carry that ran it."""
    large = sum(x.numel() for x in inputs if isinstance(x, torch.Tensor)) >= LARGE
    passes = PASSES if large else 1
    values = squares = mode = None
    for i in range(passes):
        carry = Carry(u, seed + i, RUNS // passes)
        carry.lists, carry.observe = lists, observe
        holds = _run(carry, call, inputs)
        off = [_squares(h) for h in holds]
        if mode is None:
            mode, values, squares = carry, [h.clean().double().clone() for h in holds], off
        else:
            squares = [a + b for a, b in zip(squares, off)]
    return [Truth(v, _scale(v, s, u)) for v, s in zip(values, squares)], mode


def _run(carry, call, inputs):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            given = tree_map(lambda x: Sampled(Hold(widened(x), False)) if isinstance(x, torch.Tensor) else x, inputs)
            with carry:
                result = call(*given)
            return [carry.hold(x) for x in ([result] if isinstance(result, torch.Tensor) else result)]
    finally:
        torch.set_default_dtype(before)


def widened(x):
    return x.double() if x.is_floating_point() and x.dtype != torch.float64 else x.clone()


def _squares(hold):
    """The sum of squares of the deviations from the exact sample."""
    value = hold.clean().double()
    return (hold.data[1:].double() - value).square_().sum(0) if hold.spread else torch.zeros_like(value)


def _scale(value, squares, u):
    """Infinite where a sample has no number; 1 where the value itself is none."""
    rms = (squares / RUNS).sqrt() / (AMPLITUDE * u)
    return torch.where(value.isfinite(), torch.where(rms.isfinite(), rms, torch.inf), 1.0)
