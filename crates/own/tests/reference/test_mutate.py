import math
import unittest

from support import U
import proofmark_carry as carry
import proofmark_flaws as flaws
import proofmark_gate as gate
import proofmark_mutate as mutate
import torch
import torch.nn.functional as F

OPS = {
    "layer_norm": (lambda x, w: F.layer_norm(x, (32,), w, w), [(16, 32), (32,)], (16, 32)),
    "linear": (lambda x, w: F.linear(x, w), [(16, 32), (16, 32)], (16, 16)),
    "loop": (lambda x, w: torch.stack([(x * t + w).tanh().sum(-1) for t in range(1, 12)]), [(16, 32), (32,)], (11, 16)),
}


class Catalogue(unittest.TestCase):
    def prepare(self, name, dtype="f32"):
        call, shapes, out = OPS[name]
        request = {"dtype": dtype, "outputs": [{"name": "y", "dtype": dtype, "shape": list(out)}]}
        draws = {}
        for kind in gate.FILLS:
            generator = torch.Generator().manual_seed(4)
            draws[kind] = [gate.fill(kind, {"shape": s, "dtype": dtype}, generator) for s in shapes]
        return call, request, draws

    def refused(self, results, truths, mode, kind):
        return not all(gate.accepts(gate.measure(g, t, U), mode.terms, kind in gate.ZERO_MEAN)
                       for g, t in zip(results, truths))

    def test_wrong_kernels_are_refused_and_right_ones_are_not(self):
        for op in OPS:
            for dtype in ("f32", "bf16"):
                call, request, draws = self.prepare(op, dtype)
                truths = {k: carry.truth(call, x, U, 1) for k, x in draws.items()}
                for kind, (truth, mode) in truths.items():
                    f32 = mutate.plain(call, draws[kind], {**request, "dtype": "f32"})
                    right = [r.to(torch.bfloat16 if dtype == "bf16" else r.dtype) for r in f32]
                    self.assertFalse(self.refused(right, truth, mode, kind), (op, dtype, kind))
                if dtype == "f32":
                    u = lambda got, t: float(gate.measure(got, t, U).max())
                    found = mutate.catalogue(call, list(draws.values()), request,
                                             lambda x: carry.truth(call, x, U, 1)[0], u)
                    names = [m["name"] for m in found["mutants"]]
                    self.assertGreater(len(names), 15)
                    missed = [n for n in names if not any(
                        self.refused(mutate.run(n, call, draws[k], request), *truths[k], k) for k in draws)]
                    self.assertLessEqual(len(missed), 0.05 * len(names), missed)

    def test_the_axis_and_the_divisor_of_a_mean_matter(self):
        call, request, draws = self.prepare("layer_norm")
        names = [n for n, _ in mutate.names(call, draws["normal"], request)]
        for wanted in ("mean_0_tail", "mean_0_divisor", "add_4_eps0", "rsqrt_5_approximate", "input_0_bf16", "output_0_row"):
            self.assertIn(wanted, names)

    def test_a_loop_has_few_sites_of_each_kind(self):
        call, request, draws = self.prepare("loop")
        sites = {n.rsplit("_", 1)[0] for n, _ in mutate.names(call, draws["normal"], request)}
        self.assertEqual(len([s for s in sites if s.startswith("tanh")]), mutate.MOST_OF_A_KIND)

    def test_flaws_are_told_in_sentences(self):
        call, request, draws = self.prepare("linear")
        for name, text in mutate.names(call, draws["normal"], request):
            self.assertRegex(text, r"^[A-Za-z].*\.$", name)

    def test_an_equal_kernel_is_left_out(self):
        call = lambda x: x * 1.0 + 0.0
        request = {"dtype": "bf16", "outputs": [{"name": "y", "dtype": "bf16", "shape": [8]}]}
        draws = [[gate.fill("normal", {"shape": [8], "dtype": "bf16"}, torch.Generator().manual_seed(1))]]
        found = mutate.catalogue(call, draws, request, lambda x: carry.truth(call, x, U)[0],
                                 lambda got, t: float(gate.measure(got, t, U).max()))
        self.assertIn("input_0_bf16", found["equivalent"]["bitwise"])


class Measure(unittest.TestCase):
    def test_q_counts_units_of_the_scale_beyond_half_an_ulp(self):
        truth = carry.Truth(torch.tensor([1.0, 1.0, math.nan, 2.0], dtype=torch.float64),
                            torch.tensor([1.0, 2.0, 1.0, math.inf], dtype=torch.float64))
        got = torch.tensor([1.0 + 4 * 2.0 ** -23, 1.0 - 4 * 2.0 ** -23, math.nan, 0.0])
        q = gate.measure(got, truth, U)
        self.assertAlmostEqual(float(q[0]), 7.0, places=5)
        self.assertAlmostEqual(float(q[1]), 3.5, places=5)
        self.assertEqual(q[2:].tolist(), [0.0, 0.0])
        self.assertEqual(float(gate.measure(torch.tensor([math.nan]), carry.Truth(truth.value[:1], truth.scale[:1]), U)), math.inf)

    def test_tf32_keeps_ten_bits(self):
        x = torch.tensor([1.0 + 2.0 ** -10, 1.0 + 2.0 ** -12, 1.0 + 2.0 ** -11 + 2.0 ** -13])
        self.assertEqual(flaws._tf32(x).tolist(), [1.0 + 2.0 ** -10, 1.0, 1.0 + 2.0 ** -10])


if __name__ == "__main__":
    unittest.main()
