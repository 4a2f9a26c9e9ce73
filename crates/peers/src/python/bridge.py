"""The way between the worker and a framework's script: cases as words, operands as memory."""

import ctypes
import json
import os
import site
import sys
from types import SimpleNamespace

framework = {}


def begin(text):
    """Imports a framework: its packages come from these folders and no others."""
    told = json.loads(text)
    others = ("site-packages", "dist-packages")
    sys.path[:] = [path for path in sys.path if not path.endswith(others)]
    for folder in told["packages"]:
        site.addsitedir(folder)
    sys.argv = ["proofmark"]
    # Programs that a framework starts are those of its environment, and find their own home.
    del os.environ["PYTHONHOME"]
    sys.executable = os.path.join(told["packages"][0], *[os.pardir] * 3, "bin", "python3")
    framework.update(told["given"], memory=memory, strides=strides, has=has)
    exec(compile(told["script"], told["name"], "exec"), framework)


def introduce(text):
    """Makes the framework ready for a case; what it says of itself."""
    return json.dumps(framework["introduce"](SimpleNamespace(**json.loads(text))))


def set_threads(text):
    framework["set_threads"](int(text))


def with_operands(text):
    case = SimpleNamespace(**json.loads(text))
    case.inputs = [SimpleNamespace(**operand) for operand in case.inputs]
    case.outputs = [SimpleNamespace(**operand) for operand in case.outputs]
    return case


def prepare(text):
    """Packs the weights of these operands for the calls that follow."""
    framework["prepare"](with_operands(text))


def bind(text):
    """A call on these operands without arguments, what brings its result to the output, and what
    brings operands to a device before it."""
    case = with_operands(text)
    if any(0 in output.shape for output in case.outputs):
        return empty, None, None
    call, settle, *place = framework["bind"](case)
    return call, settle, place[0] if place else None


def device_times(_):
    """What the clock of the device said since this was last asked."""
    return json.dumps(framework["device_times"]())


def has(case, name, value):
    """Whether the op has this attribute and this is its value."""
    return name in case.attrs and case.attrs[name] == value


def empty():
    """A call with nothing to do."""


def memory(operand):
    """The bytes of an operand, from its first element to its last."""
    rows, cols = 1, operand.shape[-1] if operand.shape else 1
    for size in operand.shape[:-1]:
        rows *= size
    span = (rows - 1) * operand.row_stride + cols if rows * cols else 0
    return (ctypes.c_char * (span * operand.item_bytes)).from_address(operand.address)


def strides(operand):
    """Elements from one index to the next along each axis."""
    steps = [1, operand.row_stride]
    for size in reversed(operand.shape[1:-1]):
        steps.append(steps[-1] * size)
    return steps[: len(operand.shape)][::-1]
