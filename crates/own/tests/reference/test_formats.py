import json
import os
import tempfile
import unittest

import support  # noqa: F401
import torch

import proofmark_flashinfer as flashinfer
import proofmark_gpu_mode as gpu_mode

FORMATS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats")


def text(*path):
    with open(os.path.join(FORMATS, *path), encoding="utf-8") as file:
        return file.read()


class FlashInfer(unittest.TestCase):
    def setUp(self):
        self.definition = flashinfer.Definition(os.path.join(FORMATS, "flashinfer", "definition.json"))

    def test_flags_are_stored_as_bytes_and_a_number_is_an_array_of_one(self):
        x = torch.randn(3, 48).bfloat16()
        y, total = self.definition.run([x, torch.tensor([1, 0, 1], dtype=torch.uint8), 2.0])
        self.assertEqual((list(y.shape), list(total.shape)), ([3, 48], [1]))
        self.assertTrue(bool((y[1] == 0).all()) and torch.equal(y[0], x[0] * 2))

    def test_inputs_that_are_not_reals_are_drawn(self):
        made = self.definition.values(5, {"n": 100, "hidden": 48})
        self.assertEqual((list(made), list(made["keep"].shape)), (["keep"], [100]))
        self.assertEqual(set(made["keep"].tolist()), {0, 1})

    def test_data_of_a_workload_is_read_from_its_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "data.safetensors")
            values = torch.tensor([[1.5, -2.0]], dtype=torch.bfloat16)
            raw = values.view(torch.uint8).numpy().tobytes()
            header = json.dumps({"skipped": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
                                 "x": {"dtype": "BF16", "shape": [1, 2], "data_offsets": [3, 7]}}).encode()
            with open(path, "wb") as file:
                file.write(len(header).to_bytes(8, "little") + header + b"\0\1\2" + raw)
            self.definition.workloads = [{"inputs": {"x": {"type": "safetensors", "path": path, "tensor_key": "x"}}}]
            made = self.definition.values(5, {"n": 1, "hidden": 2}, 0)
            self.assertTrue(torch.equal(made["x"], values))

    def test_a_solution_of_several_files_imports_its_own(self):
        told = json.loads(text("flashinfer", "right.json"))
        run = flashinfer.solution({s["path"]: s["content"] for s in told["sources"]}, told["spec"]["entry_point"])
        y, total = torch.empty(2, 48), torch.empty(())
        run(torch.ones(2, 48), torch.tensor([True, False]), 3.0, y, total)
        self.assertEqual(float(total), 3.0 * 48)


class GpuMode(unittest.TestCase):
    def setUp(self):
        folder = os.path.join(FORMATS, "gpu_mode", "row_sums")
        self.files = {name: t for name, t in gpu_mode.folder_of(folder).items()}
        self.cases = [{"rows": 5, "cols": 33, "seed": 11}, {"rows": 8, "cols": 64, "seed": 12},
                      {"rows": 4096, "cols": 4096, "seed": 13}]

    def test_shapes_follow_from_the_cases_and_large_ones_are_halved(self):
        told = gpu_mode.described({"files": self.files, "cases": self.cases}, 1 << 16)
        self.assertEqual([x["shape"] for x in told["inputs"]], [["rows", "cols"], ["cols"]])
        self.assertEqual([y["shape"] for y in told["outputs"]], [["rows"]])
        self.assertEqual([x["free"] for x in told["inputs"]], [True, False])
        self.assertEqual(told["cases"], [{"rows": 5, "cols": 33}, {"rows": 8, "cols": 64}, {"rows": 64, "cols": 128}])
        self.assertEqual({s["name"]: s["stated"] for s in told["shrunk"]}, {"rows": 4096, "cols": 4096})
        self.assertEqual(told["scratch"], [2])

    def test_a_submission_is_called_with_the_data_of_the_task(self):
        task = gpu_mode.Task(self.files, places=[0, 1], scratch=[2])
        x, weight = torch.randn(4, 100), torch.rand(100)
        case = {"rows": 4, "cols": 100}
        expected = task.run([x, weight], case)[0]
        off = {}
        for name in ("right", "wrong"):
            submission = task.submission(os.path.join(FORMATS, "gpu_mode", name + ".py"))
            off[name] = float((task.run([x, weight], case, submission)[0] - expected).abs().max())
        self.assertLess(off["right"], 1e-4)
        self.assertGreater(off["wrong"], 0.1)

    def test_sizes_are_the_simplest_expression_that_fits_all_cases(self):
        cases = [{"b": 2, "n": 8}, {"b": 3, "n": 16}]
        self.assertEqual(gpu_mode.formula([8, 16], cases), "n")
        self.assertEqual(gpu_mode.formula([5, 5], cases), "5")
        self.assertEqual(gpu_mode.formula([16, 48], cases), "b * n")
        self.assertEqual(gpu_mode.formula([9, 17], cases), "n + 1")
        self.assertEqual(gpu_mode.formula([4, 8], cases), "n / 2")
        with self.assertRaisesRegex(ValueError, "UNSUPPORTED"):
            gpu_mode.formula([7, 1000], cases)


if __name__ == "__main__":
    unittest.main()
