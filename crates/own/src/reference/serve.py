"""Answers questions about a user's reference: one line of JSON for each, arrays in two files.

    python serve.py --input FILE --output FILE

Inputs are f64 in the input file. Values and scales are f64 in the output file. Nothing that the
reference prints reaches the answers: its standard output goes to standard error.
"""
import argparse
import json
import os
import platform
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")        # results must not depend on the number of threads

import numpy
import torch

import proofmark_carry as carry
import proofmark_facts as facts
import proofmark_gate as gate
import proofmark_mutate as mutate
import proofmark_rules as rules
from proofmark_call import REAL, Reference, Refused, outputs_of, read, told, typed


class Server:
    """One reference at a time."""

    def __init__(self, given, results):
        self.given, self.results, self.reference = given, results, None

    def answer(self, request):
        do = {"open": self.open, "truth": self.truth, "trace": self.trace, "infer": self.infer,
              "mutant": self.mutant, "values": self.values, "vet": self.vet, "describe": self.describe}.get(request.get("do"))
        try:
            if do is None:
                raise Refused("request", text=f"unknown request {request.get('do')!r}")
            if do == self.describe:
                return {"ok": True, **self.describe(request)}
            if do != self.open and self.reference is None:
                raise Refused("request", text="no reference is open; send `open` first")
            missing = {"file", "function"} if do == self.open else {"operands", "outputs", "dtype"}
            missing -= set(request)
            if missing:
                raise Refused("request", text=f"the request lacks {', '.join(sorted(missing))}")
            return {"ok": True, **do(request)}
        except Refused as e:
            return {"error": e.answer}
        except carry.Unknown as e:
            return {"error": {"kind": "unknown_primitive", "name": e.name, "text": str(e)}}
        except MemoryError:
            return {"error": {"kind": "memory", "text": "the reference needs more memory than there is; use smaller sizes"}}
        except Exception as e:
            return {"error": {"kind": "raised", "text": told(e)}}

    def open(self, request):
        self.reference = Reference(request["file"], request["function"])
        return {"torch": torch.__version__, "numpy": numpy.__version__, "python": platform.python_version(),
                "takes": self.reference.takes, "parameters": self.reference.parameters}

    def describe(self, request):
        """What a problem of another project's format is."""
        import importlib
        return importlib.import_module("proofmark_" + request["format"]).described(request["file"], request["limit"])

    def inputs(self, request, names):
        by_name = {o["name"]: o for o in request["operands"]}
        return [read(self.given, by_name[n]) for n in names]

    def truth(self, request):
        call, names = self.reference.on(request)
        inputs = self.inputs(request, names)
        truths, mode = run(call, inputs, request)
        notes = notes_of(mode)
        undecided(call, inputs, truths, notes)
        return {"outputs": self.write(part for t in truths for part in (t.value, t.scale)),
                "primitives": list(mode.primitives), "reduction": mode.terms, "notes": notes}

    def write(self, arrays):
        """Appends arrays to the output file, and says where each pair begins."""
        at, places = 0, []
        with open(self.results, "r+b") as file:
            for array in arrays:
                places.append(at)
                at += file.write(array.contiguous().numpy().tobytes())
            file.flush()
        return [{"value": v, "scale": s} for v, s in zip(places[::2], places[1::2])]

    def trace(self, request):
        call, names = self.reference.on(request)
        inputs = self.drawn(request, names)
        units, left = rules.Units(request.get("u", 2.0 ** -24)), {}

        def observe(name, value, size):
            if bool((value.isfinite() & (value.abs() > units.largest)).any()):
                left[name] = None
        truths, mode = run(call, inputs, request, lists=True, observe=observe)
        notes = notes_of(mode) + [{"kind": "overflow", "text": f"the result of aten.{n} leaves the range of the "
                                   "accumulating type on random data"} for n in left]
        undecided(call, inputs, truths, notes)
        notes += cancelling(truths, units.u)
        notes += degenerate(lambda seed, kind: run(call, self.drawn({**request, "seed": seed}, names, kind), request,
                                                   lists=True)[0], request, mode.terms)
        return {"primitives": list(mode.primitives), "reduction": mode.terms, "notes": notes,
                "unknown": [{"name": n, "text": why} for n, why in mode.unknown.items()],
                **({} if mode.unknown or not request.get("mutants", True) else self.catalogue(call, names, request))}

    def catalogue(self, call, names, request):
        draws = [self.drawn(request, names, kind) for kind in gate.FILLS]
        u = request.get("u", 2.0 ** -24)

        def truth_of(inputs):
            truths, _ = run(call, inputs, request)
            undecided(call, inputs, truths, [])
            return truths
        return mutate.catalogue(call, draws, request, truth_of, lambda got, t: worst(got, t, u))

    def infer(self, request):
        call, names = self.reference.on(request)
        return facts.infer(call, names, request, lambda seed, kind: self.drawn({**request, "seed": seed}, names, kind))

    def drawn(self, request, names, kind="normal"):
        """Random inputs of the request's shapes; those that the user's file makes are made."""
        inputs = drawn(request, names, kind)
        if request.get("inputs"):
            made = self.reference.made(request)
            by_name = {o["name"]: o for o in request["operands"]}
            inputs = [typed(made[n].double(), by_name[n]) if n in made and by_name[n].get("made") else x
                      for n, x in zip(names, inputs)]
        return inputs

    def values(self, request):
        """The operands that the user's file makes, for the seed of the request."""
        made = self.reference.made(request)
        at, places = 0, {}
        with open(self.results, "r+b") as file:
            for operand in request["operands"]:
                if operand.get("made"):
                    places[operand["name"]] = at
                    at += file.write(made[operand["name"]].double().contiguous().numpy().tobytes())
        return {"operands": places}

    def vet(self, request):
        """Do the results depend on the inputs at all? If not, no kernel can be told from a wrong one."""
        call, names = self.reference.on(request)
        draw = lambda seed, kind="normal": self.drawn({**request, "seed": seed}, names, kind)
        if informative(call, draw(1), draw(2), request):
            return {"blind": []}
        truth_of = lambda seed, kind: run(call, draw(seed, kind), request)[0]
        terms = run(call, draw(1), request)[1].terms
        found = {}
        for note in degenerate(truth_of, request, terms):
            found.setdefault(note["output"], note["answer"])
        return {"blind": [{"output": o, "answer": a} for o, a in found.items()]}

    def mutant(self, request):
        """What a wrong kernel, or with the name `plain` the reference itself, gives in the element type."""
        call, names = self.reference.on(request)
        inputs = self.inputs(request, names)
        results = mutate.run(request["name"], call, inputs, request)
        checked(results, request)
        at, places = 0, []
        with open(self.results, "r+b") as file:
            for r in results:
                places.append({"value": at})
                at += file.write(r.double().contiguous().numpy().tobytes())
        return {"outputs": places}


def run(call, inputs, request, lists=False, observe=None):
    wanted = request["outputs"]
    truths, mode = carry.truth(lambda *a: outputs_of(call(*a), wanted), inputs,
                               request.get("u", 2.0 ** -24), request.get("seed", 0), lists, observe)
    checked([t.value for t in truths], request)
    return truths, mode


def checked(values, request):
    for value, output in zip(values, request["outputs"]):
        if list(value.shape) != list(output["shape"]):
            raise Refused("shape", name=output["name"], expected=list(output["shape"]), got=list(value.shape),
                          text=f"output `{output['name']}` has shape {list(value.shape)}; "
                               f"op.toml says {list(output['shape'])}")


def worst(got, truth, u):
    q = gate.measure(got, truth, u)
    return float(q.max()) if q.numel() else 0.0


def drawn(request, names, kind="normal"):
    """Random inputs of the request's shapes."""
    generator = torch.Generator().manual_seed(request.get("seed", 0))
    by_name = {o["name"]: o for o in request["operands"]}
    return [typed(gate.fill(kind, by_name[n], generator), by_name[n]) for n in names]


def informative(call, one, other, request):
    """Do two draws give results that differ by far more than f32 is off? Most references do: this is quick."""
    try:
        wide = lambda inputs, dtype: mutate.plain(call, inputs, {**request, "dtype": dtype})
        first, second, single = wide(one, "f64"), wide(other, "f64"), wide(one, "f32")
    except Exception:
        return False                                 # the full comparison tells why
    for a, b, rounded in zip(first, second, single):
        if a.numel() and bool(a.isfinite().all() & b.isfinite().all() & rounded.isfinite().all()):
            apart, off = (a.double() - b.double()).abs().max(), (a.double() - rounded.double()).abs().max()
            if float(apart) > 1000 * float(off) and float(apart) > 0:
                return True
    return False


def undecided(call, inputs, truths, notes):
    """Where f64 has a number and the reference in f32 has none, no kernel can be asked for one."""
    try:
        single = mutate.plain(call, inputs, {"dtype": "f32", "outputs": truths})
    except Exception as e:
        notes.append({"kind": "not_in_f32", "text": f"the reference does not run in f32: {told(e)}"})
        return
    count = 0
    for got, truth in zip(single, truths):
        if got.shape == truth.value.shape:
            where = ~got.double().isfinite() & truth.value.isfinite()
            truth.scale = torch.where(where, torch.inf, truth.scale)
            count += int(where.sum())
    if count:
        notes.append({"kind": "undecidable", "count": count,
                      "text": f"the reference in f32 gives no number for {count} elements"})


def cancelling(truths, u):
    """Warns of a reference that loses most of its digits on random data."""
    notes = []
    for i, t in enumerate(truths):
        whole = t.value.isfinite() & t.scale.isfinite() & (t.value != 0)
        if bool(whole.any()):
            lost = float((t.scale[whole] / t.value[whole].abs()).median())
            if lost * u > 1e-4:
                notes.append({"kind": "cancels", "output": i, "factor": lost,
                              "text": f"half of the elements of output {i} are uncertain by more than {lost * u:.1e} "
                                      "of their value; the reference may be numerically unstable"})
    return notes


def degenerate(truth_of, request, terms):
    """Warns of outputs for which an answer that does not look at the inputs passes on all kinds of data."""
    passing = {(o["name"], answer) for o in request["outputs"] for answer in ("zeros", "constant", "stale")}
    for kind in ("normal", "large", "positive", "graded"):
        for truth, other, output in zip(truth_of(1, kind), truth_of(2, kind), request["outputs"]):
            value = other.value
            answers = {"zeros": torch.zeros_like(value), "stale": value,
                       "constant": value.flatten()[:1].expand(value.numel()).reshape(value.shape)}
            for name, answer in answers.items():
                q = gate.measure(answer.to(REAL.get(output["dtype"], torch.float64)), truth, request.get("u", 2.0 ** -24))
                if not q.numel() or not gate.accepts(q, terms, kind in gate.ZERO_MEAN):
                    passing.discard((output["name"], name))
        if not passing:
            break
    return [{"kind": "degenerate", "output": output, "answer": answer,
             "text": f"the answer `{answer}` passes for output `{output}` on random data; a proof of it means nothing"}
            for output, answer in sorted(passing)]


def notes_of(mode):
    return [{"kind": kind, "text": text} for kind, text in mode.notes.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", required=True)
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    torch.set_num_threads(1)
    server = Server(options.input, options.output)
    for line in sys.stdin:
        try:
            answer = server.answer(json.loads(line))
        except (ValueError, KeyError, TypeError) as e:
            answer = {"error": {"kind": "request", "text": f"malformed request: {type(e).__name__}: {e}"}}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
