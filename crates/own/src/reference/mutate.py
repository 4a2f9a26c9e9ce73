"""Wrong kernels that are made from the reference, and the reference itself in its element type.

A flaw sits in one primitive of the reference, in one input, or in one output. Its name says where:
`sum_3_tail` is the fourth counted primitive, a sum that leaves out its last term. Wrong kernels
compute in f32 from the inputs as stored, and round to the output's type once, as a right one does.
"""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import proofmark_call as calls
import proofmark_flaws as flaws
import proofmark_rules as rules
from proofmark_textbook import TEXTBOOK

aten = torch.ops.aten
MOST_OF_A_KIND = 6                                   # sites of one primitive; a loop has many that are alike


class Sites(TorchDispatchMode):
    """Counts the primitives of a run. With a target, one of them is wrong."""

    def __init__(self, target=None):
        super().__init__()
        self.target, self.count, self.found = target, 0, []  # the target is (primitive, index, flaw)

    @classmethod
    def _should_skip_dynamo(cls):
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func._schema.name.split("::")[1]
        if f"{name}.{func._overloadname or 'default'}" in TEXTBOOK:
            with self:
                return TEXTBOOK[f"{name}.{func._overloadname or 'default'}"](*args, **kwargs)
        if func._schema.is_mutable and name.endswith("_") and name != "copy_":
            packet = getattr(aten, name[:-1], None)
            if packet is not None and func._overloadname in packet.overloads():
                with self:
                    return args[0].copy_(getattr(packet, func._overloadname)(*args, **kwargs))
        if func._schema.is_mutable or any(r.alias_info is not None for r in func._schema.returns):
            return func(*args, **kwargs)
        kind = rules.family(func)
        if kind is None and func.namespace == "aten":
            with self:
                out = func.decompose(*args, **kwargs)
            return func(*args, **kwargs) if out is NotImplemented else out
        if kind in ("layout", "factory", None):
            return func(*args, **kwargs)
        return self.site(func, rules.name_of(func), args, kwargs)

    def site(self, func, name, args, kwargs):
        index, self.count = self.count, self.count + 1
        right = func(*args, **kwargs)
        if self.target is None:
            if isinstance(right, torch.Tensor):
                self.found += [(name, index, flaw, text) for flaw, text, wrong in
                               flaws.of_primitive(func, name, args, kwargs, right) if flaws.fits(wrong, right)]
            return right
        if (name, index) != self.target[:2]:
            return right
        for flaw, _, wrong in flaws.of_primitive(func, name, args, kwargs, right):
            if flaw == self.target[2]:
                self.found.append(flaw)
                return wrong().to(right.dtype)
        return right


def plain(call, inputs, request):
    """The reference in the request's element type: what an eager user runs."""
    return _run(getattr(call, "eager", call), [narrowed(x, request["dtype"]) for x in inputs], request)


def narrowed(x, dtype):
    return x.to(calls.REAL[dtype]) if x.is_floating_point() else x


def _run(call, given, request):
    with torch.no_grad():
        return calls.outputs_of(call(*[x.clone() for x in given]), request["outputs"])


def run(name, call, inputs, request):
    """The results of the wrong kernel `name`; of the reference where it is `plain`."""
    if name == "plain":
        return plain(call, inputs, request)
    given = [narrowed(x, "f32") for x in inputs]
    place, at, flaw = _parts(name)
    if place == "input" and at < len(given) and flaw in flaws.PRECISION:
        given[at] = flaws.PRECISION[flaw](given[at])
        results = _run(call, given, request)
    elif place == "output":
        results = _run(call, given, request)
    else:
        mode = Sites((place, at, flaw))
        with mode:
            results = _run(call, given, request)
        if not mode.found:
            raise _unknown(name)
    results = [r.to(calls.REAL.get(o["dtype"], r.dtype)) for r, o in zip(results, request["outputs"])]
    if place == "output":
        wrong = flaws.of_output(results[at]).get(flaw) if at < len(results) else None
        if wrong is None:
            raise _unknown(name)
        results[at] = wrong[1]()
    return results


def _parts(name):
    place, _, rest = name.rpartition("_")
    place, _, at = place.rpartition("_")
    if not place or not at.isdigit():
        raise _unknown(name)
    return place, int(at), rest


def _unknown(name):
    return calls.Refused("mutant", name=name, text=f"`{name}` does not exist at these sizes; ask for the list again")


def names(call, inputs, request):
    """All wrong kernels as (name, flaw in a sentence)."""
    given = [narrowed(x, "f32") for x in inputs]
    mode = Sites()
    with mode:
        results = _run(call, given, request)
    found = [(f"{name}_{index}_{flaw}", text) for name, index, flaw, text in _thinned(mode.found)]
    for i, x in enumerate(given):
        if x.is_floating_point():
            found += [(f"input_{i}_{p}", f"Input {i} is rounded to {p} before use.") for p in flaws.PRECISION]
    for i, r in enumerate(results):
        found += [(f"output_{i}_{flaw}", text) for flaw, (text, _) in flaws.of_output(r).items()]
    return found


def _thinned(found):
    """At most a few sites of each primitive: the first, the last, and some between."""
    kept = []
    for name in dict.fromkeys(f[0] for f in found):
        sites = list(dict.fromkeys(f[1] for f in found if f[0] == name))
        if len(sites) > MOST_OF_A_KIND:
            step = (len(sites) - 1) / (MOST_OF_A_KIND - 1)
            sites = [sites[round(i * step)] for i in range(MOST_OF_A_KIND)]
        kept += [f for f in found if f[0] == name and f[1] in sites]
    return sorted(kept, key=lambda f: f[1])


def catalogue(call, draws, request, truth_of, q_of):
    """The wrong kernels that differ from the reference, and how many do not.

    `draws` are sets of inputs. A wrong kernel with q <= 1 for every element of every draw is
    equivalent: its error cannot be told from rounding.
    """
    truths = [truth_of(inputs) for inputs in draws]
    live, bitwise, within = [], [], []
    for name, text in names(call, draws[0], request):
        worst, same = 0.0, True
        for inputs, truth in zip(draws, truths):
            try:
                got = run(name, call, inputs, request)
            except calls.Refused:
                continue
            right = [t.value.to(r.dtype) for t, r in zip(truth, got)]
            same = same and all(torch.equal(a.nan_to_num(7e7), b.nan_to_num(7e7)) for a, b in zip(got, right))
            worst = max([worst] + [q_of(g, t) for g, t in zip(got, truth)])
            if worst > 1:
                break
        if worst > 1:
            live.append({"name": name, "flaw": text})
        else:
            (bitwise if same else within).append(name)
    return {"mutants": live, "equivalent": {"bitwise": bitwise, "within_rounding": within}}
