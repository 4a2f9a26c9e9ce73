"""Loads a user's reference and calls it on arrays."""
import importlib.util
import inspect
import os
import sys
import traceback

import numpy
import torch

import proofmark_arrays as arrays

REAL = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
WHOLE = {"i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
         "bool": torch.bool}


class Refused(Exception):
    """A request that cannot be answered; `answer` is the typed reason."""

    def __init__(self, kind, **fields):
        super().__init__(kind)
        self.answer = {"kind": kind, **fields}


class Reference:
    """A function of a user's file."""

    def __init__(self, file, function):
        self.file = os.path.abspath(file)
        module = self.module = _import(self.file)
        self.function = getattr(module, function, None)
        if not callable(self.function):
            known = sorted(n for n, f in vars(module).items() if inspect.isfunction(f))
            raise Refused("missing_function", name=function, known=known,
                          text=f"{file} has no function `{function}`; it has: {', '.join(known) or 'none'}")
        self.parameters = []
        for p in inspect.signature(self.function).parameters.values():
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                raise Refused("signature", name=p.name,
                              text=f"`{function}` takes *{p.name}; name every parameter after an operand, axis or attribute")
            self.parameters.append({"name": p.name, "optional": p.default is not p.empty,
                                    "keyword": p.kind is p.KEYWORD_ONLY})
        self.takes = "numpy" if arrays.takes_arrays(module, self.function) else "torch"
        self.name, self.eager = function, self.function
        if self.takes == "numpy":
            stand = _import(self.file)
            arrays.replaced(stand)
            self.function, self.eager = arrays.on_tensors(getattr(stand, function)), arrays.in_numpy(self.function)

    def _must_have(self, name):
        return any(p["name"] == name and not p["optional"] for p in self.parameters)

    def on(self, request):
        """The function of its tensors alone: what to call, and the names of the tensors in order."""
        operands = {o["name"] for o in request["operands"] if o.get("role", "input") != "output"}
        scalars = {**request.get("axes", {}), **request.get("attributes", {})}
        # A reference with a default of its own, such as `dtype=None`, keeps it.
        if self.takes == "torch" and request.get("dtype") in REAL and self._must_have("dtype"):
            scalars.setdefault("dtype", REAL[request["dtype"]])
        wanted = request.get("arguments") or [p["name"] for p in self.parameters]
        by_name = {p["name"]: p for p in self.parameters}
        names, given = [], []
        for name in wanted:
            parameter = by_name.get(name, {"optional": False, "keyword": False})
            if name in operands:
                names.append(name)
            elif name not in scalars:
                if parameter["optional"]:
                    continue
                raise Refused("parameter", name=name, text=f"the parameter `{name}` of `{self.name}` "
                              f"is no operand, axis or attribute; known: {', '.join(sorted(operands | set(scalars)))}")
            given.append((name, parameter["keyword"] or bool(parameter["optional"])))

        def bound(function):
            def call(*tensors):
                values = {**scalars, **dict(zip(names, tensors))}
                return function(*[values[n] for n, keyword in given if not keyword],
                                **{n: values[n] for n, keyword in given if keyword})
            return call
        call = bound(self.function)
        call.eager = bound(self.eager)
        return call, names


    def made(self, request):
        """The operands that the function `inputs` of the request makes, by name."""
        name = request.get("inputs") or "inputs"
        function = getattr(self.module, name, None)
        if not callable(function):
            raise Refused("missing_function", name=name, known=[], text=f"{self.file} has no function `{name}`")
        known = {**request.get("axes", {}), **request.get("attributes", {}), "data_seed": request.get("seed", 0)}
        wanted = inspect.signature(function).parameters
        missing = [n for n, p in wanted.items() if n not in known and p.default is p.empty]
        if missing:
            raise Refused("parameter", name=missing[0], text=f"the parameter `{missing[0]}` of `{name}` is no axis, "
                          f"attribute or `data_seed`; known: {', '.join(sorted(known))}")
        made = function(**{n: known[n] for n in wanted if n in known})
        shapes = {o["name"]: list(o["shape"]) for o in request["operands"] if o.get("made")}
        for operand, shape in shapes.items():
            if operand not in made:
                raise Refused("inputs", text=f"`{name}` returns no `{operand}`")
            if list(made[operand].shape) != shape:
                raise Refused("shape", name=operand, text=f"`{name}` makes `{operand}` of shape "
                              f"{list(made[operand].shape)}; op.toml says {shape}")
        return made


def _import(file):
    folder = os.path.dirname(file)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location("proofmark_reference", file)
    if spec is None or not os.path.exists(file):
        raise Refused("import", text=f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["proofmark_reference"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as e:                       # a reference may also call sys.exit
        raise Refused("import", text=told(e)) from e
    return module


def told(error):
    """An exception with the line of user code that raised it."""
    own = os.path.dirname(os.path.abspath(__file__))
    frames = [f for f in traceback.extract_tb(error.__traceback__)
              if not f.filename.startswith(own) and "site-packages" not in f.filename and f.filename[0] != "<"]
    where = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
    return f"{where}{type(error).__name__}: {error}"


def read(path, operand):
    """The values of an operand as a tensor: f64 for real types, exact integers for the others."""
    count = int(numpy.prod(operand["shape"], dtype=numpy.int64))
    values = numpy.fromfile(path, dtype=numpy.float64, count=count, offset=operand["offset"])
    if values.size != count:
        raise Refused("space", text=f"the input file ends within operand `{operand['name']}`")
    return typed(torch.from_numpy(values).reshape(operand["shape"]), operand)


def typed(tensor, operand):
    """A tensor of f64 in the type in which the reference takes the operand."""
    if operand["dtype"] in WHOLE:
        return tensor.to(WHOLE[operand["dtype"]])
    return tensor


def outputs_of(result, wanted):
    """The reference's results in the order of the outputs."""
    if isinstance(result, dict):
        result = [result[o["name"]] for o in wanted if o["name"] in result]
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if len(results) != len(wanted):
        raise Refused("outputs", text=f"the reference returns {len(results)} results; the op has {len(wanted)} outputs")
    return results
