import os
import tempfile
import textwrap
import unittest

import support  # noqa: F401
import torch

import proofmark_kernelbench as kernelbench
import proofmark_serve as serve
import proofmark_sizes as sizes

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats", "kernelbench")
PROBLEM = os.path.join(FOLDER, "7_Scaled_Rows.py")
NOTHING = os.path.join(FOLDER, "8_Nothing.py")


class Sizes(unittest.TestCase):
    def test_sizes_are_integers_and_members_of_tuples(self):
        text = textwrap.dedent("""
            a, b = 3, 4
            c = d = 2 * 8
            e = (a, 5, 2 ** 3)
            f = 1.5
            g = -1
            h: int = 9
        """)
        self.assertEqual(sizes.of(text), {"a": 3, "b": 4, "c": 16, "d": 16, "e_1": 5, "e_2": 8, "h": 9})

    def test_what_follows_from_a_size_changes_with_it(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "m.py")
            with open(file, "w", encoding="utf-8") as opened:
                opened.write("n = 64\nshape = (n, 32)\ntwice = 2 * n\n")
            made = sizes.module(file, {"n": 5, "shape_1": 7}, "made")
            self.assertEqual((made.n, made.shape, made.twice), (5, (5, 7), 10))
            kept = sizes.module(file, {"n": 5}, "kept", {"n": 63})
            self.assertEqual(kept.n, 64)

    def test_the_largest_size_is_halved_first_and_two_together_if_one_alone_does_not_run(self):
        def measure(at):
            if at["a"] != at["b"]:
                raise ValueError("they do not fit")
            return at["a"] * at["b"] * at["c"], [at["a"], at["c"]], None
        self.assertEqual(sizes.halved({"a": 16, "b": 16, "c": 64}, measure, 2048), ({"a": 16, "b": 16, "c": 8}, 2048))
        self.assertEqual(sizes.halved({"a": 16, "b": 16, "c": 3}, measure, 256), ({"a": 8, "b": 8, "c": 3}, 192))

    def test_a_number_of_groups_keeps_at_least_four_members_each(self):
        def measure(at):
            if at["channels"] % at["groups"]:
                raise ValueError("no multiple")
            return at["channels"] * at["rows"], [at["rows"]], None
        small, _ = sizes.halved({"channels": 1024, "groups": 64, "rows": 512}, measure, 1 << 10)
        self.assertGreaterEqual(small["channels"], 4 * small["groups"])


class Problems(unittest.TestCase):
    def setUp(self):
        self.told = kernelbench.described(PROBLEM, 1 << 16)
        used = {s["name"]: s["used"] for s in self.told["sizes"] if s["used"] != s["stated"]}
        self.problem = kernelbench.Problem(PROBLEM, used, [0, 1], [1])

    def test_a_problem_is_shrunk_below_the_limit_and_says_what_it_was(self):
        self.assertLessEqual(self.told["bytes"]["used"], 1 << 16)
        stated = {s["name"]: s["stated"] for s in self.told["sizes"]}
        self.assertEqual((stated["rows"], stated["columns"]), (8192, 2048))
        shape = self.told["inputs"][0]["shape"]
        self.assertEqual([i["shape"] for i in self.told["inputs"]], [shape, shape])

    def test_drawn_inputs_are_free_and_others_are_made(self):
        self.assertEqual([(i["name"], i["free"], i["dtype"]) for i in self.told["inputs"]],
                         [("x", True, "f32"), ("keep", False, "u8")])

    def test_an_answer_has_the_parameters_of_the_model_whatever_their_names_are(self):
        x, keep = self.problem.inputs(3)
        given = [x, keep.to(torch.uint8)]
        answers = {name: self.problem.answer(os.path.join(FOLDER, name + ".py")) for name in ("right", "wrong")}
        for seed in (42, 1):
            expected = self.problem.run(given, seed)[0]
            off = {n: float((self.problem.run(given, seed, a)[0] - expected).abs().max()) for n, a in answers.items()}
            self.assertLess(off["right"], 1e-4)
            self.assertGreater(off["wrong"], 0.1)

    def test_other_seeds_are_other_parameters(self):
        x, keep = self.problem.inputs(3)
        given = [x, keep.to(torch.uint8)]
        self.assertFalse(torch.equal(self.problem.run(given, 42)[0], self.problem.run(given, 1)[0]))

    def test_a_model_in_f64_has_the_parameters_that_it_has_in_f32(self):
        single, double = self.problem.model(42, torch.float32), self.problem.model(42, torch.float64)
        for a, b in zip(single.parameters(), double.parameters()):
            self.assertTrue(torch.equal(a.double(), b))


class Blind(unittest.TestCase):
    def vet(self, call, shape):
        server = serve.Server(None, None)
        server.reference = type("Stand", (), {"on": lambda self, request: (call, ["x"])})()
        call.eager = call
        x = {"name": "x", "dtype": "f32", "shape": shape}
        y = {"name": "y", "dtype": "f32", "shape": list(call(torch.zeros(shape)).shape)}
        return server.vet({"dtype": "f32", "operands": [x], "outputs": [y], "u": support.U, "seed": 1})["blind"]

    def test_a_result_that_does_not_depend_on_the_inputs_is_told(self):
        model = kernelbench.Problem(NOTHING).model()
        self.assertEqual([b["output"] for b in self.vet(lambda x: model(x), [64, 16])], ["y"])

    def test_a_small_result_is_not_taken_for_none(self):
        self.assertEqual(self.vet(lambda x: torch.softmax(x, -1) * 1e-9, [4, 1000]), [])
        self.assertEqual(self.vet(lambda x: x.mean(-1), [4, 1000]), [])


if __name__ == "__main__":
    unittest.main()
