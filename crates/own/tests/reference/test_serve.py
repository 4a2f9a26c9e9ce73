import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

from support import REFERENCE, U

SOURCE = '''
import torch
print("a reference may print")

def group_softmax(x, g):
    rows, cols = x.shape
    return torch.softmax(x.reshape(rows, cols // g, g), -1).reshape(rows, cols)

def unstable(x):
    return torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)

def narrow(x):
    return x[:, 1:]

def broken(x):
    return x.no_such_thing()

def empty_words(x):
    return torch.nn.functional.gelu(x.amax(1, keepdim=True) * 1.1 - (x.amax(1, keepdim=True) * 1.1).mean(1, keepdim=True))

def strange(x, y):
    return x + y

def stored_between(x, dtype):
    return (x * 1.1).to(dtype).double() * 3.0

def stored_by_default(x, dtype=None):
    return x * 1.1 if dtype is None else (x * 1.1).to(dtype)
'''
ARRAYS = '''
import numpy as np
from numpy import exp

def softmax(x):
    e = exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

def other(x):
    return np.bitwise_count(x.astype(np.int64))
'''


class Child:
    """The runner as the judge starts it."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        for name in ("input", "output"):
            pathlib.Path(self.path(name)).write_bytes(bytes(1 << 16))
        pathlib.Path(self.path("reference.py")).write_text(SOURCE)
        pathlib.Path(self.path("arrays_reference.py")).write_text(ARRAYS)
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(REFERENCE, "proofmark_serve.py"), "--input", self.path("input"), "--output", self.path("output")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def write(self, values):
        with open(self.path("input"), "r+b") as f:
            f.write(struct.pack(f"{len(values)}d", *values))

    def read(self, offset, count):
        with open(self.path("output"), "rb") as f:
            f.seek(offset)
            return struct.unpack(f"{count}d", f.read(8 * count))


def request(shape=(4, 8), out=None, **more):
    return {"operands": [{"name": "x", "dtype": "f32", "shape": list(shape), "role": "input", "offset": 0}],
            "outputs": [{"name": "y", "dtype": "f32", "shape": list(out or shape)}],
            "attributes": {"g": 8}, "dtype": "f32", "seed": 5, "u": U, **more}


class Protocol(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.child = Child().__enter__()
        cls.child.write([((i * 37) % 64 - 32) / 8 for i in range(64)])

    @classmethod
    def tearDownClass(cls):
        cls.child.__exit__()

    def open(self, function, file="reference.py"):
        return self.child.ask(do="open", file=self.child.path(file), function=function)

    def test_truth_is_in_the_output_file(self):
        opened = self.open("group_softmax")
        self.assertTrue(opened["ok"])
        self.assertEqual([p["name"] for p in opened["parameters"]], ["x", "g"])
        answer = self.child.ask(do="truth", **request())
        self.assertTrue(answer["ok"], answer)
        value = self.child.read(answer["outputs"][0]["value"], 32)
        scale = self.child.read(answer["outputs"][0]["scale"], 32)
        self.assertAlmostEqual(sum(value[:8]), 1.0, places=12)
        self.assertTrue(all(0 < s < 20 for s in scale))
        self.assertEqual(answer["reduction"], 8)
        self.assertIn("aten.exp", answer["primitives"])
        self.child.ask(do="truth", **request())
        self.assertEqual(self.child.read(answer["outputs"][0]["scale"], 32), scale)

    def test_a_reference_may_round_to_the_type_of_the_case(self):
        first = {"stored_between": -4 * 1.1 * 3.0, "stored_by_default": -4 * 1.1}

        def largest_scale(function, dtype):
            self.open(function)
            answer = self.child.ask(do="truth", **{**request(), "dtype": dtype})
            self.assertTrue(answer["ok"], answer)
            self.assertAlmostEqual(self.child.read(answer["outputs"][0]["value"], 1)[0], first[function], places=12)
            return max(self.child.read(answer["outputs"][0]["scale"], 32))

        self.assertLess(largest_scale("stored_between", "f32"), 100)
        self.assertGreater(largest_scale("stored_between", "bf16"), 10_000)
        self.assertLess(largest_scale("stored_by_default", "bf16"), 100)

    def test_refusals_are_typed(self):
        self.assertEqual(self.open("nothing")["error"]["kind"], "missing_function")
        self.assertEqual(self.open("f", "absent.py")["error"]["kind"], "import")
        self.open("narrow")
        self.assertEqual(self.child.ask(do="truth", **request())["error"]["got"], [4, 7])
        self.open("broken")
        error = self.child.ask(do="truth", **request())["error"]
        self.assertEqual(error["kind"], "raised")
        self.assertIn("reference.py:16", error["text"])
        self.open("strange")
        self.assertEqual(self.child.ask(do="truth", **request())["error"]["name"], "y")
        self.assertEqual(self.child.ask(do="dance")["error"]["kind"], "request")
        self.assertEqual(self.child.ask(do="truth")["error"]["kind"], "request")

    def test_where_f32_has_no_number_the_scale_is_infinite(self):
        self.open("unstable")
        self.child.write([100.0 + i for i in range(32)])
        answer = self.child.ask(do="truth", **request())
        self.child.write([((i * 37) % 64 - 32) / 8 for i in range(64)])
        self.assertEqual(set(self.child.read(answer["outputs"][0]["scale"], 32)), {float("inf")})
        self.assertEqual([n["kind"] for n in answer["notes"]], ["undecidable"])

    def test_trace_lists_mutants_that_run(self):
        self.open("group_softmax")
        answer = self.child.ask(do="trace", **request())
        self.assertEqual(answer["unknown"], [])
        names = [m["name"] for m in answer["mutants"]]
        self.assertGreater(len(names), 15)
        self.assertIn("exp_2_function", names)
        right = self.child.ask(do="mutant", name="plain", **request())
        first = self.child.read(right["outputs"][0]["value"], 32)
        for name in names:
            wrong = self.child.ask(do="mutant", name=name, **request())
            self.assertTrue(wrong.get("ok"), (name, wrong))
        self.child.ask(do="mutant", name="output_0_zeros", **request())
        self.assertEqual(set(self.child.read(0, 32)), {0.0})
        self.assertNotEqual(set(first), {0.0})
        self.assertEqual(self.child.ask(do="mutant", name="sin_0_bf16", **request())["error"]["kind"], "mutant")

    def test_an_output_that_ignores_its_inputs_is_told_of(self):
        self.open("empty_words")
        notes = self.child.ask(do="trace", mutants=False, **request(out=(4, 1)))["notes"]
        self.assertIn(("degenerate", "zeros"), [(n["kind"], n.get("answer")) for n in notes])
        self.open("group_softmax")
        self.assertEqual(self.child.ask(do="trace", mutants=False, **request())["notes"], [])

    def test_facts(self):
        self.open("group_softmax")
        facts = self.child.ask(do="infer", **request(shape=(4, 16)))
        x = facts["inputs"][0]
        self.assertTrue(x["special"] and not x["linear"])
        self.assertEqual([(i["axis"], i["output_axis"], i["nan_stays"]) for i in x["independent"]], [(0, 0, True)])
        self.assertFalse(facts["integers"]["exact"])
        self.assertEqual(facts["laws"], [{"kind": "permutation", "inputs": {"x": 0}, "outputs": {"y": 0}}])

    def test_numpy_references(self):
        self.assertEqual(self.open("softmax", "arrays_reference.py")["takes"], "numpy")
        answer = self.child.ask(do="truth", **request())
        self.assertTrue(answer["ok"], answer)
        self.assertAlmostEqual(sum(self.child.read(0, 8)), 1.0, places=12)
        self.assertTrue(all(0 < s < 20 for s in self.child.read(answer["outputs"][0]["scale"], 32)))
        self.assertTrue(self.child.ask(do="mutant", name="plain", **request())["ok"])
        self.assertGreater(len(self.child.ask(do="trace", **request())["mutants"]), 15)
        self.open("other", "arrays_reference.py")
        self.assertEqual(self.child.ask(do="truth", **request())["error"]["name"], "numpy.bitwise_count")


if __name__ == "__main__":
    unittest.main()
