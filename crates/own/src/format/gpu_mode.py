"""A GPU MODE task: `reference.py` with `generate_input` and `ref_kernel`; a submission has `custom_kernel`.

Tasks are written for a GPU. Here the word `cuda` of the files is read as `cpu`.
"""
import ast
import glob
import itertools
import math
import os
import sys

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

import proofmark_flashinfer as flashinfer
import proofmark_kernelbench as kernelbench

SAMPLES = 4                                          # cases from which shapes are read
CASES = 16                                           # at the most
MOST = 64                                            # times the limit, if sizes cannot become small enough


def on_cpu(text):
    """The text of a module with `cpu` in the place of `cuda`."""
    class Device(ast.NodeTransformer):
        def visit_Constant(self, node):
            is_device = isinstance(node.value, str) and node.value.split(":")[0] == "cuda"
            return ast.copy_location(ast.Constant("cpu"), node) if is_device else node
    return ast.unparse(ast.fix_missing_locations(Device().visit(ast.parse(text))))


class Task:
    """The files of a task, and what a case of it is."""

    def __init__(self, texts, fixed=None, places=None, flags=(), scratch=()):
        sys.meta_path.insert(0, flashinfer.Sources({f"{n}": on_cpu(t) for n, t in texts.items()}))
        torch.Tensor.cuda = lambda self, *_, **__: self
        import importlib
        ours = sys.modules.pop("reference", None)
        self.module = importlib.import_module("reference")
        if ours is not None:
            sys.modules["reference"] = ours
        for name in ("generate_input", "ref_kernel"):
            if not hasattr(self.module, name):
                raise ValueError(f"UNSUPPORTED: reference.py has no `{name}`")
        self.fixed, self.places, self.flags, self.scratch = fixed or {}, places, flags, scratch
        self.shapes = {}

    def data(self, case, seed):
        """The data of a case: its leaves, and how they belong together."""
        with kernelbench.plain(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return tree_flatten(self.module.generate_input(**self.fixed, **case, seed=seed % 2 ** 31))

    def run(self, given, case, function=None):
        """The results for these operands: of `ref_kernel`, or of a submission."""
        key = tuple(sorted(case.items()))
        if key not in self.shapes:
            self.shapes[key] = self.data(case, 1)
        leaves, spec = self.shapes[key]
        leaves = list(leaves)
        for i, (place, x) in enumerate(zip(self.places, given)):
            leaves[place] = x.bool() if i in self.flags else x
        for place in self.scratch:
            same = given[0].dtype if leaves[place].is_floating_point() and given else leaves[place].dtype
            leaves[place] = torch.zeros(leaves[place].shape, dtype=same)
        with torch.no_grad():
            return results((function or self.module.ref_kernel)(tree_unflatten(leaves, spec)))

    def values(self, names, case, seed):
        leaves, _ = self.data(case, seed)
        return dict(zip(names, (leaves[place] for place in self.places)))

    def submission(self, file):
        with open(file, encoding="utf-8") as opened:
            text = on_cpu(opened.read())
        space = {"__name__": "submission", "__file__": file}
        exec(compile(text, file, "exec"), space)
        return space["custom_kernel"]


def folder_of(folder):
    """The files of a task's folder by name."""
    found = {}
    for file in glob.glob(os.path.join(folder, "*.py")):
        with open(file, encoding="utf-8") as opened:
            found[os.path.basename(file)] = opened.read()
    return found


def results(result):
    flat = [r for r in tree_flatten(result)[0] if isinstance(r, torch.Tensor)]
    return [r.reshape(1) if r.dim() == 0 else r for r in flat]


# ---------------------------------------------------------------------- what a task is
def described(task, limit):
    """What the folder of the op states. `task` has the texts of the files, and the cases of task.yml."""
    whole = [{k: v for k, v in c.items() if k != "seed"} for c in task["cases"]]
    first = whole[0]
    sizes = [k for k in first if type(first[k]) is int]
    fixed = {k: v for k, v in first.items() if k not in sizes}
    notes = [f"UNSUPPORTED: a case with other values than {fixed}: {c}" for c in whole
             if {k: v for k, v in c.items() if k not in sizes} != fixed]
    cases = [{k: c[k] for k in sizes} for c in whole if all(c.get(k) == v for k, v in fixed.items()) and set(c) == set(first)]
    made = Task(task["files"], fixed)
    trials = [trial(made, c) for c in sorted(cases, key=lambda c: math.prod(c.values()))[:SAMPLES]]
    one = trials[0]
    shape = lambda part, i: [formula([t[part][i]["shape"][d] for t in trials], [t["case"] for t in trials])
                             for d in range(len(one[part][i]["shape"]))]
    inputs = [{**x, "shape": shape("inputs", i)} for i, x in enumerate(one["inputs"])]
    outputs = [{**y, "shape": shape("outputs", i)} for i, y in enumerate(one["outputs"])]
    used, shrunk, seen = [], [], set()
    for case in cases:
        small = fitting(case, inputs + outputs, limit)
        key = tuple(small.values())
        if key in seen or len(used) == CASES:
            continue
        seen.add(key)
        try:
            told = trial(made, small)
        except Exception as e:
            notes.append(f"UNSUPPORTED: {case} does not run as {small}: {type(e).__name__}: {e}")
            continue
        expected = [[value(e, small) for e in x["shape"]] for x in inputs + outputs]
        if [x["shape"] for x in told["inputs"] + told["outputs"]] != expected:
            notes.append(f"UNSUPPORTED: the shapes of {small} do not follow those of the other cases")
            continue
        used.append(small)
        shrunk += [{"name": k, "stated": case[k], "used": small[k]} for k in small if small[k] != case[k]]
    if not used:
        raise ValueError("no case of the task runs here: " + "; ".join(notes))
    strip = lambda x: {k: v for k, v in x.items() if k != "bytes"}
    return {"inputs": [strip(x) for x in inputs], "outputs": [strip(y) for y in outputs], "cases": used,
            "shrunk": shrunk, "fixed": fixed, "scratch": one["scratch"], "notes": notes, "axes": sizes}


def trial(task, case):
    """Runs a case, and tells what its operands and results are."""
    drawn = kernelbench.Drawn()
    with drawn:
        leaves, spec = task.data(case, 1)
    places = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]
    before = {i: leaves[i]._version for i in places}
    free = {i: drawn.is_free(leaves[i]) and leaves[i].is_floating_point() for i in places}
    with torch.no_grad():
        result = results(task.module.ref_kernel(tree_unflatten(leaves, spec)))
    scratch = [i for i in places if leaves[i]._version != before[i]]
    inputs = [{"name": f"x{n}", "place": i, **kind(leaves[i]), "free": free[i]}
              for n, i in enumerate(p for p in places if p not in scratch)]
    outputs = [{"name": "y" if len(result) == 1 else f"y{n}", **kind(r)} for n, r in enumerate(result)]
    if not inputs or not outputs:
        raise ValueError("UNSUPPORTED: its data or its result has no tensors")
    return {"case": case, "inputs": inputs, "outputs": outputs, "scratch": scratch}


def kind(x):
    if x.dtype not in kernelbench.NAMES:
        raise ValueError(f"UNSUPPORTED: a tensor is {x.dtype}")
    return {"dtype": kernelbench.NAMES[x.dtype], "shape": list(x.shape), "bool": x.dtype == torch.bool,
            "bytes": x.element_size()}


def formula(sizes, cases):
    """The simplest expression of the case that gives these sizes."""
    names = list(cases[0])
    fits = lambda text: all(value(text, c) == s for s, c in zip(sizes, cases))
    candidates = list(names) + ([str(sizes[0])] if len(set(sizes)) == 1 else [])
    candidates += [f"{a} * {b}" for a, b in itertools.combinations_with_replacement(names, 2)]
    for a in names:
        base = cases[0][a]
        candidates += [f"{a} + {sizes[0] - base}" if sizes[0] > base else f"{a} - {base - sizes[0]}"]
        candidates += [f"{sizes[0] // base} * {a}" if base and sizes[0] % base == 0 else a,
                       f"{a} / {base // sizes[0]}" if sizes[0] and base % sizes[0] == 0 else a]
    candidates += [" * ".join(c) for c in itertools.combinations(names, 3)]
    for text in candidates:
        if fits(text):
            return text
    raise ValueError(f"UNSUPPORTED: no expression of {', '.join(names)} gives the sizes {sizes}")


def value(text, case):
    return eval(text.replace("/", "//"), {"__builtins__": {}}, dict(case))


def fitting(case, tensors, limit):
    """The case with its largest sizes halved, until all tensors fit; as it is if they never do."""
    case = dict(case)
    bytes_of = lambda c: sum(math.prod(value(e, c) for e in t["shape"]) * t["bytes"] for t in tensors)
    while bytes_of(case) > limit:
        for name in sorted((n for n in case if case[n] > 3), key=lambda n: -case[n]):
            trial_case = {**case, name: case[name] // 2}
            if bytes_of(trial_case) < bytes_of(case):
                case = trial_case
                break
        else:
            break
    return case
