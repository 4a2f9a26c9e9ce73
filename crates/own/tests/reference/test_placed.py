"""Kernels on a device of PyTorch that works on the processor after the program has gone on. Each runs
in a process of its own, because it may change what PyTorch is."""

import os
import unittest
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from types import SimpleNamespace

import torch

OWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
KERNELS = os.path.join(OWN, "tests", "device")
SOURCES = ["src/reference/finder.py", "src/kernel/placed.py", "src/kernel/callable.py"]


def script(name, device):
    """The script that stands between the interpreter and a kernel, as a worker starts it."""
    bridge = {}
    with open(os.path.join(OWN, "..", "peers", "src", "python", "bridge.py"), encoding="utf-8") as file:
        exec(file.read(), bridge)
    given = {name: bridge[name] for name in ("memory", "strides", "has")}
    given.update(file=os.path.join(KERNELS, f"{name}.py"), function="run", takes="torch", device=device, modules={})
    text = ""
    for source in SOURCES:
        with open(os.path.join(OWN, source), encoding="utf-8") as file:
            text += file.read() + "\n"
    exec(compile(text, "callable.py", "exec"), given)
    return given


def case(tensors):
    def operand(name, tensor):
        return SimpleNamespace(
            name=name, address=tensor.data_ptr(), dtype="f32", item_bytes=4, shape=list(tensor.shape),
            row_stride=tensor.stride(-2),
        )

    there = [operand(name, tensor) for name, tensor in tensors.items()]
    declared = [{"name": name, "is_written": name == "z", "is_weight": False} for name in tensors]
    return SimpleNamespace(
        op="add", dtype="f32", axes={"b": 1, "s": 4, "d": 5}, attrs={}, threads=1, inputs=there[:2], outputs=there[2:],
        operands=declared,
    )


def calls(name, device):
    """Whether each of three calls on changing inputs left the sum, and what the device's clock said."""
    door = script(name, device)
    # Rows with padding between them, which nothing may touch.
    home = torch.full((1, 4, 7), 7.0)
    x, y, z = torch.randn(1, 4, 5), torch.randn(1, 4, 5), home[..., :5]
    told = case({"x": x, "y": y, "z": z})
    said = door["introduce"](told)
    once, settle, place = door["bind"](told)
    right = []
    for _ in range(3):
        x.normal_()
        z.fill_(float("nan"))
        place()
        once()
        try:
            settle()
            right.append(torch.equal(z, x + y))
        except MemoryError as error:
            right.append(str(error))
    assert (home[..., 5:] == 7.0).all()
    return {"right": right, "times": door["device_times"](), "on": said["on"]}


class Placed(unittest.TestCase):
    def ran(self, name, device="fake:0"):
        # A copy of this process has imported PyTorch already.
        with ProcessPoolExecutor(1, get_context("fork")) as copy:
            return copy.submit(calls, name, device).result()

    def test_a_call_ends_when_every_queue_is_empty(self):
        for name in ("right", "second_queue", "patched_wait"):
            self.assertEqual(self.ran(name)["right"], [True] * 3, name)

    def test_events_are_a_second_figure_that_a_kernel_may_forge(self):
        honest, forged = self.ran("right"), self.ran("forged_events")
        self.assertEqual(forged["right"], [True] * 3)
        self.assertGreater(honest["times"]["kernel_ns"], 0)
        self.assertEqual((honest["times"]["calls"], forged["times"]["kernel_ns"]), (3, 0))
        self.assertEqual((honest["on"]["name"], honest["on"]["memory"]), ("fake:0", "own"))

    def test_a_result_that_was_kept_under_places_is_wrong_on_other_inputs(self):
        self.assertEqual(self.ran("memo_pointer")["right"], [True, False, False])

    def test_a_write_beyond_an_operand_on_the_device_is_found(self):
        self.assertIn("beyond `z` on the device", self.ran("beyond")["right"][0])

    def test_a_machine_without_the_device_says_so(self):
        with self.assertRaisesRegex(LookupError, "ABSENT: PyTorch"):
            self.ran("right", "hpu:0")
