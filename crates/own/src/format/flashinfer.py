"""flashinfer-trace: a Definition is a reference, a Workload is a case, a Solution is a kernel."""
import importlib.abc
import importlib.util
import json
import os
import sys
import types

import torch

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16,
          "float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2, "int64": torch.int64,
          "int32": torch.int32, "int8": torch.int8, "bool": torch.bool}
STORED = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
          "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8,
          "BOOL": torch.bool}


class Definition:
    """A Definition in a file; `workloads` are those of its cases, by number."""

    def __init__(self, file, workloads=()):
        self.folder = os.path.dirname(os.path.abspath(file))
        with open(file, encoding="utf-8") as opened:
            told = json.load(opened)
        self.inputs, self.outputs, self.op_type = told["inputs"], told["outputs"], told.get("op_type", "")
        self.axes = {n: a["value"] for n, a in told["axes"].items() if a["type"] == "const"}
        self.workloads = workloads
        module = types.ModuleType("proofmark_definition")
        exec(compile(told["reference"], f"{file}: reference", "exec"), module.__dict__)
        self.function = module.run

    def run(self, given):
        """The results for the inputs in the order of the Definition: tensors, and scalars as numbers."""
        return self.results(self.function(*self.taken(given)))

    def taken(self, given):
        """Inputs as the Definition types them: a flag was stored as a byte."""
        return [x.bool() if spec["dtype"] == "bool" and isinstance(x, torch.Tensor) else x
                for x, spec in zip(given, self.inputs.values())]

    def results(self, result):
        """Results in the order of the Definition. A single number becomes an array of one element."""
        if isinstance(result, dict):
            result = [result[name] for name in self.outputs]
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        results = [r if isinstance(r, torch.Tensor) else torch.as_tensor(r) for r in results]
        return [r.reshape(1) if r.dim() == 0 else r for r in results]

    def values(self, seed, axes, number=None):
        """The inputs that are not just any numbers, by name: as flashinfer-bench draws or loads them."""
        generator = torch.Generator().manual_seed(seed)
        stated = self.workloads[number]["inputs"] if number is not None else {}
        made = {}
        for name, spec in self.inputs.items():
            if spec["shape"] is None:
                continue
            shape = [axes.get(axis, self.axes.get(axis)) for axis in spec["shape"]]
            source = stated.get(name, {})
            if source.get("type") == "safetensors":
                made[name] = stored(os.path.join(self.folder, source["path"]), source["tensor_key"])
            elif spec["dtype"] == "bool":
                made[name] = torch.randint(0, 2, shape, generator=generator)
            elif spec["dtype"].startswith("int"):
                top = 128 if spec["dtype"] == "int8" else 1024
                made[name] = torch.randint(-top, top, shape, generator=generator)
            elif self.op_type == "sampling" and name == "probs":
                made[name] = torch.randn(shape, generator=generator).softmax(-1)
        return made


def stored(path, key):
    """One tensor of a safetensors file: a length, a header in JSON, the bytes."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        began = file.tell()
        told = header[key]
        first, last = told["data_offsets"]
        file.seek(began + first)
        data = bytearray(file.read(last - first))
    dtype = STORED[told["dtype"]]
    return (torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)).reshape(told["shape"])


class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Lets Python import the files of a Solution, which are texts by path."""

    def __init__(self, texts):
        self.modules = {path[:-3].replace("/", "."): text for path, text in texts.items() if path.endswith(".py")}
        self.packages = {name.rpartition(".")[0] for name in self.modules} - {""}

    def find_spec(self, name, path=None, target=None):
        if name in self.modules or name in self.packages:
            return importlib.util.spec_from_loader(name, self, is_package=name in self.packages)
        return None

    def exec_module(self, module):
        text = self.modules.get(module.__name__, "")
        module.__file__ = module.__name__.replace(".", "/") + ".py"
        exec(compile(text, module.__file__, "exec"), module.__dict__)


def solution(texts, entry):
    """The function of a Solution: `main.py::run`."""
    file, _, function = entry.partition("::")
    # First, so that a file called as a package is the Solution's own.
    sys.meta_path.insert(0, Sources(texts))
    module = importlib.import_module(file[:-3].replace("/", "."))
    return getattr(module, function)
