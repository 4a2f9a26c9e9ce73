"""How the derived gate judges KernelBench: every problem, with answers that are right and wrong.

    python kernelbench.py FOLDER [--levels 1 2] [--bytes N] [--only NAME] [--json FILE]

FOLDER is a copy of the set: `level1/*.py` and so on. The modules of this crate do all the work: a
problem is read and shrunk as `proofmark new op --from` does it, its truth and scale come from the
runner of references, and the limits are those of the gate. Each answer is judged on several kinds of
data and must pass on all of them. Nothing is installed, and nothing is written but the JSON.
"""
import argparse
import glob
import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = [os.path.join(HERE, "..", "src", part) for part in ("reference", "format")]
sys.path.insert(0, os.path.join(SOURCES[0]))
from finder import Finder

sys.meta_path.insert(0, Finder({"proofmark_" + os.path.basename(f)[:-3]: open(f, encoding="utf-8").read()
                                for folder in SOURCES for f in glob.glob(os.path.join(folder, "*.py"))}))

import torch

import proofmark_carry as carry
import proofmark_gate as gate
import proofmark_kernelbench as kernelbench
import proofmark_serve as serve

U = 2.0 ** -24
KINDS = ("normal", "uniform", "positive", "offset", "large", "graded")
SEEDS = (kernelbench.SEED, 1)                        # of the parameters


def request_of(told, seed):
    operands = [{"name": o["name"], "dtype": o["dtype"], "shape": o["shape"], "role": "input",
                 "made": not o["free"]} for o in told["inputs"]]
    return {"dtype": "f32", "operands": operands, "outputs": told["outputs"], "u": U, "seed": 20261115,
            "inputs": "inputs" if any(o["made"] for o in operands) else None,
            "attributes": {"seed": seed} if told["has_state"] else {}}


def rounded(x, bits):
    """f32 with fewer bits of its significand: 7 for bf16, 10 for tf32."""
    drop = 23 - bits
    whole = x.contiguous().view(torch.int32)
    nearest = (whole + ((1 << (drop - 1)) - 1) + ((whole >> drop) & 1)) & ~((1 << drop) - 1)
    return nearest.view(torch.float32)


class Products(torch.overrides.TorchFunctionMode):
    """Rounds what goes into products to tf32, as some processors do by default."""
    NAMES = ("matmul", "__matmul__", "linear", "bmm", "mm", "einsum", "conv1d", "conv2d", "conv3d",
             "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "baddbmm", "addmm", "scaled_dot_product_attention")

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") in self.NAMES:
            self.count += 1
            with torch._C.DisableTorchFunction():
                args = [rounded(x, 10) if isinstance(x, torch.Tensor) and x.dtype == torch.float32 else x for x in args]
                return function(*args, **(kwargs or {}))
        return function(*args, **(kwargs or {}))


class Answers:
    """What answers give for inputs in f32. None where an answer does not apply to a problem."""

    def __init__(self, problem, told):
        self.problem, self.told = problem, told
        self.kept = {}

    def eager(self, given, seed):
        return self.problem.run([x.clone() for x in given], seed)

    def zeros(self, given, seed):
        return [torch.zeros_like(y) for y in self.eager(given, seed)]

    def constant(self, given, seed):
        """The first element of the right result, everywhere."""
        if all(y.numel() == 1 for y in self.eager(given, seed)):
            return None                              # it is the right result
        return [y.flatten()[:1].expand(y.numel()).reshape(y.shape).clone() for y in self.eager(given, seed)]

    def mean(self, given, seed):
        """The mean of the right result, everywhere: what tolerances of 1e-2 let pass."""
        if all(y.numel() == 1 for y in self.eager(given, seed)):
            return None                              # it is the right result
        return [y.double().mean().to(y.dtype).expand(y.shape).clone() for y in self.eager(given, seed)]

    def stale(self, given, seed):
        """The result of the first call, again and again: a cache that does not look at its inputs."""
        if "stale" not in self.kept:
            inputs = [torch.randn_like(x) if x.is_floating_point() else x for x in given]
            self.kept["stale"] = self.eager(inputs, kernelbench.SEED)
        return self.kept["stale"]

    def first_input(self, given, seed):
        """An input handed on as the result."""
        result = self.eager(given, seed)
        fitting = [x for x in given if x.shape == result[0].shape and x.dtype == result[0].dtype]
        return [fitting[0].clone(), *result[1:]] if fitting else None

    def half_done(self, given, seed):
        """The second half of the rows is what the first half is."""
        result = [y.clone() for y in self.eager(given, seed)]
        rows = [y for y in result if y.dim() and y.shape[0] > 1]
        if not rows:
            return None
        for y in rows:
            half = y.shape[0] // 2
            y[half:2 * half] = y[:half]
        return result

    def last_lost(self, given, seed):
        """The last element of every row stays 0: a tail that is not done."""
        result = [y.clone() for y in self.eager(given, seed)]
        for y in result:
            y[..., -1] = 0
        return result

    def without_parameters(self, given, seed):
        """The parameters of one seed for all seeds: numbers that were copied from a run."""
        if not self.told["has_state"]:
            return None
        return self.eager(given, kernelbench.SEED)

    def bf16_inputs(self, given, seed):
        if not any(x.is_floating_point() for x in given):
            return None
        return self.problem.run([x.bfloat16().float() if x.is_floating_point() else x.clone() for x in given], seed)

    def tf32(self, given, seed):
        mode = Products()
        with mode:
            result = self.eager(given, seed)
        return result if mode.count else None

    def off_by_1e_3(self, given, seed):
        result = self.eager(given, seed)
        return [y * 1.001 for y in result] if any(y.is_floating_point() for y in result) else None


RIGHT = ("eager",)
EXPLOITS = ("zeros", "constant", "mean", "stale", "first_input", "half_done", "last_lost", "without_parameters")
IMPRECISE = ("bf16_inputs", "tf32", "off_by_1e_3")


def judged(file, limit):
    told = kernelbench.described(file, limit)
    changed = {s["name"]: s["used"] for s in told["sizes"] if s["used"] != s["stated"]}
    places = [o["place"] for o in told["inputs"]]
    flags = [i for i, o in enumerate(told["inputs"]) if o["bool"]]
    problem = kernelbench.Problem(file, changed, places, flags)
    row = {"problem": "/".join(file.split("/")[-2:]), "bytes": told["bytes"], "sizes": told["sizes"],
           "made": [o["name"] for o in told["inputs"] if not o["free"]], "answers": {}, "worst": {}}
    server = serve.Server(None, None)
    server.reference = Stand(problem, told)
    row["blind"] = server.vet(request_of(told, kernelbench.SEED))["blind"]
    row["outcome"] = "UNSUPPORTED" if len(row["blind"]) == len(told["outputs"]) else "judged"
    answers = Answers(problem, told)
    differs = set(RIGHT)
    alive = list(RIGHT + EXPLOITS + IMPRECISE)
    for kind, seed in [(k, s) for k in KINDS for s in (SEEDS if told["has_state"] else SEEDS[:1])]:
        request = request_of(told, seed)
        call, names = server.reference.on(request)
        inputs = server.drawn(request, names, kind)
        truths, mode = serve.run(call, inputs, request)
        serve.undecided(call, inputs, truths, [])
        right = answers.eager([x.float() if x.is_floating_point() else x for x in inputs], seed)
        single = [x.float() if x.is_floating_point() else x for x in inputs]
        for name in list(alive):
            got = getattr(answers, name)(single, seed)
            if got is None:
                row["answers"].pop(name, None)
                alive.remove(name)
                continue
            # An answer that is equal to the right one is no wrong answer: some results are 0 at their ends,
            # and some parameters are 1 whatever the seed.
            if not all(torch.equal(g.nan_to_num(7e7), r.nan_to_num(7e7)) for g, r in zip(got, right)):
                differs.add(name)
            q = [gate.measure(g, t, U) for g, t in zip(got, truths)]
            row["worst"][name] = max([row["worst"].get(name, 0.0)] + [float(x.max()) for x in q if x.numel()])
            passes = all(gate.accepts(x, mode.terms, kind in gate.ZERO_MEAN) for x in q)
            row["answers"][name] = "passed" if passes else f"refused on {kind}"
            if not passes:
                alive.remove(name)
    row["equal"] = sorted(set(row["answers"]) - differs)
    row["answers"] = {n: a for n, a in row["answers"].items() if n in differs}
    return row


class Stand:
    """A reference as `reference.py` of an op's folder is one."""

    def __init__(self, problem, told):
        self.problem, self.names = problem, [o["name"] for o in told["inputs"]]

    def on(self, request):
        seed = request["attributes"].get("seed", kernelbench.SEED)
        call = lambda *given: self.problem.run(list(given), seed)
        call.eager = call
        return call, self.names

    def made(self, request):
        return self.problem.values(self.names, request["seed"])


def summary(rows, total):
    judged_rows = [r for r in rows if "outcome" in r]
    telling = [r for r in judged_rows if r["outcome"] == "judged"]
    print(f"\nproblems {total}, loaded {sum('bytes' in r for r in rows)}, "
          f"with a truth {len(judged_rows)}, of which UNSUPPORTED because the result does not depend on the inputs "
          f"{len(judged_rows) - len(telling)}")
    print(f"{'answer':22} {'applies to':>10} {'PROVEN':>7} {'refused':>8}")
    for name in RIGHT + EXPLOITS + IMPRECISE:
        told = [r["answers"][name] for r in telling if name in r["answers"]]
        passed = sum(t == "passed" for t in told)
        print(f"{name:22} {len(told):10} {passed:7} {len(told) - passed:8}")
    for name in RIGHT:
        for r in telling:
            if r["answers"].get(name) != "passed":
                print(f"{name} refused: {r['problem']}: {r['answers'].get(name)}, q {r['worst'].get(name):.3g}")
    for name in EXPLOITS + IMPRECISE:
        for r in telling:
            if r["answers"].get(name) == "passed":
                print(f"{name} PROVEN: {r['problem']}: q {r['worst'][name]:.3g}")
    for r in judged_rows:
        if r["outcome"] != "judged":
            print(f"UNSUPPORTED: {r['problem']}: the answer `{r['blind'][0]['answer']}` passes on all data")
    for r in rows:
        if "error" in r:
            print(f"UNSUPPORTED: {r['problem']}: {r['error']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--levels", nargs="+", default=["1", "2"])
    parser.add_argument("--bytes", type=int, default=1 << 18)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    parser.add_argument("--part", default="1/1", help="this part of the problems, as 1/2")
    options = parser.parse_args()
    torch.set_num_threads(1)
    files = [f for level in options.levels for f in glob.glob(os.path.join(options.folder, f"level{level}", "*.py"))]
    number = lambda f: (os.path.basename(os.path.dirname(f)), int("0" + os.path.basename(f).split("_")[0]))
    part, parts = map(int, options.part.split("/"))
    files = sorted((f for f in files if options.only in f), key=number)[part - 1::parts]
    rows = []
    for file in files:
        began = time.time()
        row = {"problem": "/".join(file.split("/")[-2:])}
        try:
            row = judged(file, options.bytes)
        except carry.Unknown as e:
            row.update(bytes=None, error=str(e))
        except Exception as e:
            row.update(error=f"{type(e).__name__}: {e}")
        row["seconds"] = round(time.time() - began, 1)
        rows.append(row)
        told = row.get("error") or " ".join(f"{n}={v.split()[0]}" for n, v in row["answers"].items())
        print(f"{row['problem']} {row.get('outcome', 'none')} {row['seconds']} s {told}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    summary(rows, len(files))


if __name__ == "__main__":
    main()
