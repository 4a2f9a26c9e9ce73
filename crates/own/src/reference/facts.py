"""What trials on the reference support about an op, at the sizes of one request.

A fact is true only if every trial on every seed supports it. Ask at several sizes and keep what is
true at all of them: a size of 1 along an axis shows nothing about it.
"""
import math

import torch

import proofmark_call as calls
import proofmark_carry as carry
import proofmark_mutate as mutate

SEEDS = (1, 2, 3)
CLOSE = 1e-9                                         # of the largest result, in f64
SPECIAL = (math.nan, math.inf, -math.inf)


def infer(call, names, request, draw):
    """Typed facts. `draw(seed, kind)` makes inputs."""
    trials = Trials(call, names, request, draw)
    pairs = trials.held(trials.independent_axes)
    return {"inputs": [trials.of_input(i, name, pairs) for i, name in enumerate(names)],
            "laws": trials.permutations(pairs), "integers": trials.integers()}


class Trials:
    """Runs of the reference in f64 without noise."""

    def __init__(self, call, names, request, draw):
        self.call, self.names, self.request, self.draw = call, names, request, draw
        self.outputs = [o["name"] for o in request["outputs"]]

    def run(self, inputs, dtype="f64"):
        before = torch.get_default_dtype()
        torch.set_default_dtype(calls.REAL[dtype])
        try:
            return mutate.plain(self.call, inputs, {**self.request, "dtype": dtype})
        finally:
            torch.set_default_dtype(before)

    def held(self, question):
        """What all seeds agree on, of a question that answers with a set."""
        found = None
        for seed in SEEDS:
            said = question(seed)
            found = said if found is None else found & said
        return found

    def all_seeds(self, question):
        try:
            return all(question(seed) for seed in SEEDS)
        except Exception:                            # a reference that cannot be asked supports nothing
            return False

    # ------------------------------------------------------------------ slices
    def independent_axes(self, seed):
        """(input, its axis, output, its axis): slice i of the one reaches slice i of the other alone."""
        inputs = self.draw(seed, "normal")
        right = self.run(inputs)
        found = set()
        for i, x in enumerate(inputs):
            for a in range(x.dim()) if x.is_floating_point() else ():
                if x.shape[a] > 1:
                    found |= self._reached(inputs, right, i, a, seed)
        return found

    def _reached(self, inputs, right, i, a, seed):
        n = inputs[i].shape[a]
        places = sorted({0, n - 1, (7 * seed) % n})
        held, moved = None, []
        for place in places:
            changed = [x.clone() for x in inputs]
            part = changed[i].select(a, place)
            part.copy_(part * 1.5 + 0.25)
            reached = set()
            for o, (new, old) in enumerate(zip(self.run(changed), right)):
                different = different_from(new, old)
                for b in range(old.dim()):
                    if old.shape[b] == n:
                        where = different.transpose(0, b).reshape(n, -1).any(1).nonzero().flatten().tolist()
                        if where in ([], [place]):
                            reached.add((i, a, o, b))
                            moved += where
            held = reached if held is None else held & reached
        return held if moved else set()

    def nan_stays(self, pair, seed):
        """A NaN in a slice leaves all other slices as they are."""
        i, a, o, b = pair
        inputs = self.draw(seed, "normal")
        right = self.run(inputs)[o]
        place = (5 * seed) % inputs[i].shape[a]
        inputs[i] = inputs[i].clone()
        inputs[i].select(a, place)[(0,) * (inputs[i].dim() - 1)] = math.nan
        different = different_from(self.run(inputs)[o], right).transpose(0, b).reshape(right.shape[b], -1).any(1)
        return different.nonzero().flatten().tolist() in ([], [place])

    # ------------------------------------------------------------------ one input
    def of_input(self, i, name, pairs):
        operand = next(o for o in self.request["operands"] if o["name"] == name)
        real = operand["dtype"] not in calls.WHOLE
        ask = lambda question: real and self.all_seeds(lambda seed: question(i, seed))
        own = sorted(p for p in pairs if p[0] == i)
        return {"name": name, "special": ask(self.special), "linear": ask(lambda *a: self.linear(*a, 2, -3)),
                "affine": ask(lambda *a: self.linear(*a, 3, -2)),
                "shift_invariant": ask(self.shift_invariant),
                "independent": [{"axis": a, "output": self.outputs[o], "output_axis": b,
                                 "nan_stays": self.all_seeds(lambda seed, p=(i, a, o, b): self.nan_stays(p, seed))}
                                for _, a, o, b in own]}

    def special(self, i, seed):
        """f64 and f32 agree on what NaN and infinities make of every result."""
        for value in SPECIAL:
            inputs = self.draw(seed, "normal")
            flat = inputs[i].reshape(-1).clone()
            if flat.numel() == 0:
                return False
            flat[(11 * seed) % flat.numel()] = value
            inputs[i] = flat.reshape(inputs[i].shape)
            for wide, single in zip(self.run(inputs), self.run(inputs, "f32")):
                if not torch.equal(classes(wide), classes(single)):
                    return False
        return True

    def linear(self, i, seed, m, n):
        """f(m x + n z) = m f(x) + n f(z); with m + n = 1 a constant part does not matter."""
        inputs, other = self.draw(seed, "normal"), self.draw(seed + 50, "normal")[i]
        at = lambda x: self.run([x if j == i else y for j, y in enumerate(inputs)])
        both, first, second = at(m * inputs[i] + n * other), at(inputs[i]), at(other)
        return all(a.is_floating_point() and close(c, m * a + n * b) for c, a, b in zip(both, first, second))

    def shift_invariant(self, i, seed):
        inputs = self.draw(seed, "normal")
        moved = [x + 3.5 if j == i else x for j, x in enumerate(inputs)]
        return all(close(a, b) for a, b in zip(self.run(moved), self.run(inputs)))

    # ------------------------------------------------------------------ laws
    def permutations(self, pairs):
        """Axes whose permutation in some inputs permutes every output."""
        laws = []
        for o, b in sorted({(p[2], p[3]) for p in pairs}):
            if o != 0:
                continue
            chosen = {}
            for i, a, *_ in sorted(p for p in pairs if p[2:] == (o, b)):
                chosen.setdefault(i, a)
            outs = {0: b, **{p[2]: p[3] for p in sorted(pairs, reverse=True)
                             if p[2] and (p[0], p[1]) in chosen.items()}}
            if len(outs) == len(self.outputs) and self.all_seeds(lambda s: self.permutes(chosen, outs, s)):
                laws.append({"kind": "permutation", "inputs": {self.names[i]: a for i, a in chosen.items()},
                             "outputs": {self.outputs[k]: v for k, v in outs.items()}})
        return laws

    def permutes(self, chosen, outs, seed):
        inputs = self.draw(seed, "normal")
        i, a = next(iter(chosen.items()))
        order = torch.randperm(inputs[i].shape[a], generator=torch.Generator().manual_seed(seed))
        moved = [x.index_select(chosen[j], order) if j in chosen else x for j, x in enumerate(inputs)]
        return all(close(new, old.index_select(outs[o], order))
                   for o, (new, old) in enumerate(zip(self.run(moved), self.run(inputs))))

    def integers(self):
        """Are all results exact for small integers, whatever the order of the sums?"""
        largest = 0.0

        def observe(name, value, size):
            nonlocal largest
            top = value.abs().max() if size is None else torch.maximum(value.abs(), size).max()
            whole = value.numel() == 0 or bool((value == value.round()).all())
            largest = max(largest, float(top)) if whole else math.inf

        def exact(seed):
            carry.truth(self.call, self.draw(seed, "integer"), 2.0 ** -24, seed, observe=observe)
            return largest < 2.0 ** 24
        held = self.all_seeds(exact)
        return {"exact": held, "inputs_at_most": 4, "sums_at_most": largest if held else None}


def different_from(new, old):
    return ~((new == old) | (new.isnan() & old.isnan()))


def classes(x):
    """1 for NaN, 2 and 3 for the infinities, 0 for numbers."""
    x = x.double()
    return x.isnan() * 1 + (x == math.inf) * 2 + (x == -math.inf) * 3


def close(new, old):
    if not new.is_floating_point():
        return torch.equal(new, old)
    top = float(old.abs().max()) if old.numel() else 0.0
    return bool(new.isfinite().all()) and bool(((new - old).abs() <= CLOSE * max(top, 1e-300)).all())
