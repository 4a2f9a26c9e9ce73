"""References that take NumPy arrays.

The reference's module is loaded twice: once as it is, for the contender, and once with PyTorch's
implementation of NumPy's functions in the place of NumPy, so that the same rules of rounding apply.
A function of NumPy that is missing there is refused by name.
"""
import inspect
import types

import numpy
import torch
import torch._numpy as arrays

import proofmark_carry as carry


class Stand(types.ModuleType):
    """Stands in for `numpy` or one of its submodules."""

    def __init__(self, name, source):
        super().__init__(name)
        self.__dict__["source"] = source

    def __getattr__(self, name):
        found = getattr(self.source, name, None)
        if found is None or name.startswith("__"):
            if name.startswith("__"):
                raise AttributeError(name)
            raise carry.Unknown(f"{self.__name__}.{name}", "it has no rule of rounding")
        return Stand(f"{self.__name__}.{name}", found) if isinstance(found, types.ModuleType) else found


def takes_arrays(module, function):
    """Does the function take NumPy arrays? `TAKES` says so, or annotations, or what the module imports."""
    said = getattr(module, "TAKES", None)
    if said is not None:
        return said == "numpy"
    notes = [str(p.annotation) for p in inspect.signature(function).parameters.values() if p.annotation is not p.empty]
    if any("ndarray" in n or "numpy" in n for n in notes):
        return True
    if any("Tensor" in n for n in notes):
        return False
    held = {getattr(v, "__name__", "").split(".")[0] for v in vars(module).values() if isinstance(v, types.ModuleType)}
    held |= {(getattr(v, "__module__", "") or "").split(".")[0] for v in vars(module).values()}
    held |= {"numpy" for v in vars(module).values() if isinstance(v, numpy.ufunc)}
    return "numpy" in held and "torch" not in held


def replaced(module):
    """Puts PyTorch's functions in the place of NumPy's, in a module of the reference."""
    for name, value in list(vars(module).items()):
        if isinstance(value, types.ModuleType) and value.__name__.split(".")[0] == "numpy":
            source = arrays
            for part in value.__name__.split(".")[1:]:
                source = getattr(source, part, types.ModuleType(part))
            setattr(module, name, Stand(value.__name__, source))
        elif isinstance(value, numpy.ufunc) or (getattr(value, "__module__", None) or "").split(".")[0] == "numpy":
            setattr(module, name, getattr(Stand("numpy", arrays), value.__name__))


def on_tensors(function):
    """A function of arrays as one of tensors."""
    def call(*args, **kwargs):
        wrap = lambda x: arrays.ndarray(x) if isinstance(x, torch.Tensor) else x
        return _mapped(lambda x: x.tensor if isinstance(x, arrays.ndarray) else torch.as_tensor(x),
                       function(*map(wrap, args), **{k: wrap(v) for k, v in kwargs.items()}))
    return call


def in_numpy(function):
    """A function of arrays on tensors, run by NumPy itself; 16-bit floats are widened to f32."""
    def call(*args, **kwargs):
        narrow = (torch.bfloat16, torch.float16)
        wrap = lambda x: (x.float() if x.dtype in narrow else x).numpy() if isinstance(x, torch.Tensor) else x
        return _mapped(lambda x: torch.from_numpy(numpy.array(x)),
                       function(*map(wrap, args), **{k: wrap(v) for k, v in kwargs.items()}))
    return call


def _mapped(f, result):
    if isinstance(result, dict):
        return {k: f(v) for k, v in result.items()}
    return [f(r) for r in result] if isinstance(result, (tuple, list)) else f(result)
