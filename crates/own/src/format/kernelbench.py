"""A KernelBench problem: a file with `Model`, `get_inputs` and `get_init_inputs`.

As there, the model and an answer's `ModelNew` are built with the same seed, so that their
parameters are equal if they are made in the same order. Parameters of the same names and shapes are
copied besides, so that their order does not matter.
"""
import contextlib
import inspect
import os

import torch
from torch.utils._python_dispatch import _disable_current_modes

import proofmark_sizes as sizes_of

SEED = 42                                            # that of KernelBench
MOST = 64                                            # times the limit, if sizes cannot become small enough
NAMES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
         torch.int64: "i64", torch.int32: "i32", torch.int8: "i8", torch.uint8: "u8", torch.bool: "u8"}


class Problem:
    """The problem of a file at some sizes.

    `operands` are the places of the inputs that are operands; `flags` are those of them that are
    flags, which operands hold as bytes. The other inputs are those of the seed.
    """

    def __init__(self, file, sizes=None, operands=None, flags=()):
        self.file, self.sizes = os.path.abspath(file), sizes or {}
        self.operands, self.flags = operands, flags
        self.module = sizes_of.module(self.file, self.sizes, "proofmark_problem")
        for name in ("Model", "get_inputs"):
            if not hasattr(self.module, name):
                raise ValueError(f"{file} has no `{name}`: it is no KernelBench problem")
        self.models, self.rest = {}, {}

    def stated(self):
        """The sizes that the file states."""
        with open(self.file, encoding="utf-8") as opened:
            return sizes_of.of(opened.read(), self.file)

    def inputs(self, seed):
        """All inputs, tensors and others, of a seed."""
        with plain(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return list(self.module.get_inputs())

    def init(self, seed):
        torch.manual_seed(seed)
        return list(getattr(self.module, "get_init_inputs", list)())

    def model(self, seed=SEED, dtype=torch.float32, answer=None):
        """The model of a seed, or that of an answer's module. It is built in f32 and then converted."""
        key = (seed, dtype, answer)
        if key not in self.models:
            with plain(), torch.random.fork_rng(devices=[]):
                built = self.built(self.module.Model, seed)
                if answer is not None:
                    built = matched(self.built(answer.ModelNew, seed), built)
                self.models[key] = built.to(dtype) if isinstance(built, torch.nn.Module) else built
        return self.models[key]

    def built(self, kind, seed):
        init = self.init(seed)
        torch.manual_seed(seed)
        if isinstance(init, list) and len(init) == 2 and isinstance(init[1], dict) and isinstance(init[0], list):
            return kind(*init[0], **init[1])
        return kind(*init)

    def run(self, given, seed=SEED, answer=None):
        """The results for these operands: of the model, or of an answer's."""
        if self.flags:
            given = [x.bool() if i in self.flags else x for i, x in enumerate(given)]
        reals = [x.dtype for x in given if x.is_floating_point()]
        model = self.model(seed, reals[0] if reals else torch.float32, answer)
        if self.operands is not None:
            whole = list(self.others(seed))
            for place, x in zip(self.operands, given):
                whole[place] = x
            given = whole
        return called(model, given)

    def others(self, seed):
        if seed not in self.rest:
            self.rest[seed] = self.inputs(seed)
        return self.rest[seed]

    def values(self, names, seed):
        """The inputs of a seed, by the names of the operands."""
        given = self.inputs(seed)
        places = range(len(given)) if self.operands is None else self.operands
        return dict(zip(names, (given[place] for place in places)))

    def answer(self, file):
        """The module of an answer. Sizes that it repeats from the problem become those of this problem."""
        return sizes_of.module(file, self.sizes, "proofmark_answer", self.stated())


@contextlib.contextmanager
def plain():
    """Outside of any mode that watches primitives, with f32 as the default type."""
    before = torch.get_default_dtype()
    with _disable_current_modes(), torch.no_grad():
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


def matched(new, old):
    """`new` with the state of `old`, if names and shapes are the same."""
    if isinstance(new, torch.nn.Module) and isinstance(old, torch.nn.Module):
        shapes = lambda model: {n: t.shape for n, t in model.state_dict().items()}
        if shapes(new) == shapes(old):
            new.load_state_dict(old.state_dict())
    return new


def called(model, given):
    """The results of a model as a list. A single number becomes an array of one element."""
    with torch.no_grad():
        result = model(*given)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    return [r.reshape(1) if isinstance(r, torch.Tensor) and r.dim() == 0 else r for r in results]


# ---------------------------------------------------------------------- what a problem is
class Drawn(torch.overrides.TorchFunctionMode):
    """Remembers what `rand` and `randn` return: inputs that may hold any real numbers."""

    def __init__(self):
        super().__init__()
        self.free = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        if function in (torch.rand, torch.randn) and isinstance(made, torch.Tensor):
            self.free.append((made, made._version))
        return made

    def is_free(self, x):
        return any(x is made and x._version == version for made, version in self.free)


def measured(file):
    """What `halved` asks of sizes, without computing anything."""
    def measure(sizes):
        problem = Problem(file, sizes)
        with torch.device("meta"), torch.no_grad():
            model = problem.built(problem.module.Model, SEED)
            given = list(problem.module.get_inputs())
            result = model(*given)
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        tensors = [x for x in given + results if isinstance(x, torch.Tensor)]
        state = list(model.state_dict().values()) if isinstance(model, torch.nn.Module) else []
        # A dimension of 1, or an empty one, is another problem: nothing is summed along it.
        kept = [[min(d, 2) for d in t.shape] for t in tensors + state]
        shapes = [list(x.shape) for x in given if isinstance(x, torch.Tensor)]
        return sum(t.numel() * t.element_size() for t in tensors + state), shapes, kept
    return measure


def described(file, limit):
    """What the folder of the op states: sizes, operands and results."""
    stated = Problem(file).stated()
    measure = measured(file)
    whole = measure({})[0]
    sizes, small = sizes_of.halved(stated, measure, limit)
    if small > MOST * limit:
        why = f"with smaller sizes still {small}"
        if small == whole:
            why = "none of its sizes can be halved: sizes are integers that the module assigns"
        raise ValueError(f"{file} takes {whole} bytes, and {why}; "
                         f"give a larger limit: --bytes {-(-small // MOST)}")
    changed = {n: s for n, s in sizes.items() if s != stated[n]}
    problem = Problem(file, changed)
    drawn = Drawn()
    with drawn:
        given = problem.inputs(SEED)
    model = problem.model()
    with plain():
        results = called(model, given)
    shown = [n for n in stated if n in changed or _matters(measure, sizes, n)]
    names = _named(problem, given, shown)
    inputs = [{"name": name, "place": i, "dtype": NAMES[x.dtype], "shape": list(x.shape),
               "bool": x.dtype == torch.bool, "free": drawn.is_free(x) and x.is_floating_point()}
              for i, (name, x) in enumerate(zip(names, given)) if isinstance(x, torch.Tensor)]
    outputs = [{"name": "y" if len(results) == 1 else f"y{i}", "dtype": NAMES[r.dtype], "shape": list(r.shape)}
               for i, r in enumerate(results)]
    has_state = isinstance(model, torch.nn.Module) and len(model.state_dict()) > 0
    return {"inputs": inputs, "outputs": outputs, "has_state": has_state,
            "sizes": [{"name": n, "stated": stated[n], "used": sizes[n]} for n in shown],
            "bytes": {"stated": whole, "used": small, "limit": limit}}


def _matters(measure, sizes, name):
    """Does a size change how many bytes there are? If not, it is an axis, a group or the like."""
    if sizes[name] < 4:
        return False
    try:
        return measure({**sizes, name: sizes[name] * 2})[0] != measure(sizes)[0]
    except Exception:
        return False


def _named(problem, given, taken):
    """Names of the inputs: those of the parameters of `forward`, if they are free."""
    parameters = list(inspect.signature(problem.module.Model.forward).parameters)[1:]
    names, used = [], {*taken, "seed", "y", "threads"}
    for i in range(len(given)):
        name = parameters[i] if i < len(parameters) and parameters[i].isidentifier() else f"x{i}"
        while name in used or name[:1] == "_" or (name[:1] == "y" and name[1:].isdigit()):
            name = f"{name.lstrip('_')}_in" if name.lstrip("_") else f"x{i}"
        names.append(name)
        used.add(name)
    return names
