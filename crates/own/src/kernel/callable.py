"""Calls the function of a user's file on operands where they lie.

The file, the name of its function and what it takes are given, and how operands become memory.
"""

import functools
import importlib.util
import inspect
import os
import platform
import sys

kept = {"threads": 1, "packed": None}
# Files that `proofmark new op --from` wrote import modules of ours.
sys.meta_path.append(Finder(modules))


def module():
    """The user's file. Other files of its folder can be imported, and nothing is written there."""
    sys.dont_write_bytecode = True
    folder, base = os.path.split(file)
    # Last, so that a kernel called `numpy` does not hide the package.
    sys.path.append(folder)
    name = "proofmark_kernel_" + os.path.splitext(base)[0]
    spec = importlib.util.spec_from_file_location(name, file)
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


# What a file does to PyTorch does not reach the door to its device. A file may bring a device along.
try:
    door = Door(device) if device else None
except LookupError:
    if device.split(":")[0] in ("cuda", "xpu"):
        raise
    door = None
user = module()
if device and door is None:
    door = Door(device)
run = getattr(user, function, None)
if run is None:
    raise AttributeError(f"{file} has no function `{function}`: define it, or name another in its header")
setup = getattr(user, "setup", None)


def introduce(case):
    written = [operand["name"] for operand in case.operands if operand["is_written"]]
    weights = [operand["name"] for operand in case.operands if operand["is_weight"]]
    numbers = [*case.axes, *case.attrs, "threads"]
    packed = ["packed"] if setup else []
    operands = [operand["name"] for operand in case.operands]
    parameters = kept["run"] = checked(run, function, operands + numbers + packed)
    if setup:
        kept["setup"] = checked(setup, "setup", weights + numbers)
        if "packed" not in parameters:
            raise TypeError(f"`setup` packs weights, and `{function}` has no parameter `packed`")
    kept["written"] = written
    kept["returned"] = [name for name in written if name not in parameters]
    fixed = [name for name in written if name in parameters]
    if takes == "jax" and fixed:
        raise TypeError(f"arrays of JAX cannot be written: return `{fixed[0]}` instead of taking it")
    set_threads(case.threads)
    return {
        "version": "unknown",
        "build": "; ".join([f"CPython {platform.python_version()}", *packages()]),
        "isa": "not reported",
        "memory": memory_of_results(),
        "parallel": "threads" in parameters or takes in ("torch", "jax") or "numba" in sys.modules,
        "packs": setup is not None,
        "on": door.describe() if door else None,
    }


def memory_of_results():
    if door:
        return "on the device"
    return "new memory for each result" if kept["returned"] else ""


def device_times():
    return door.times()


def packages():
    """Versions of what the file has imported."""
    known = ["triton", "torch", "numpy", "jax", "numba", "scipy"]
    loaded = [name for name in known if name in sys.modules]
    return [f"{name} {getattr(sys.modules[name], '__version__', 'unknown')}" for name in loaded]


def checked(called, name, known):
    """The parameters that are given a value. Others must have a default."""
    plain = inspect.unwrap(getattr(called, "py_func", called))
    names = []
    for parameter in inspect.signature(plain).parameters.values():
        if parameter.name in known:
            names.append(parameter.name)
        elif parameter.default is inspect.Parameter.empty:
            raise TypeError(f"`{name}` has the parameter `{parameter.name}`; there are {', '.join(known)}")
    return names


def set_threads(count):
    kept["threads"] = count
    if takes == "torch":
        # A file in Triton need not import it.
        importlib.import_module("torch").set_num_threads(count)
    if takes == "jax":
        # The client reads the count when it is made.
        if os.environ.get("PJRT_NPROC", str(count)) != str(count):
            import jax.extend

            jax.extend.backend.clear_backends()
        os.environ["PJRT_NPROC"] = str(count)
    if "numba" in sys.modules:
        numba = sys.modules["numba"]
        # Numba starts one thread for each processor, and refuses a larger number.
        numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))


def prepare(case):
    """Packs weights for the calls that follow."""
    kept["packed"] = setup(**values_of(case, kept["setup"]))


def values_of(case, names):
    """What parameters are given: an operand, else a number of the case."""
    made = {**case.axes, **case.attrs, "threads": kept["threads"], "packed": kept["packed"]}
    made.update({operand.name: TENSORS[takes](operand, False) for operand in case.inputs})
    made.update({operand.name: TENSORS[takes](operand, True) for operand in case.outputs})
    return {name: made[name] for name in names}


def bind_placed(case):
    """The same call on the device."""
    operands = [(operand, False) for operand in case.inputs] + [(operand, True) for operand in case.outputs]
    there = [Placed(door, operand.name, tensor(operand, written)) for operand, written in operands]
    numbers = {**case.axes, **case.attrs, "threads": kept["threads"], "packed": kept["packed"]}

    def call_with(tensors):
        made = {**numbers, **tensors}
        return functools.partial(run, **{name: made[name] for name in kept["run"]})

    outputs = [operand for operand in case.outputs if operand.name in kept["returned"]]

    def settle_returned(result):
        given = result if isinstance(result, (tuple, list)) else [result]
        for operand, one in zip(outputs, given, strict=bool(outputs)):
            settle_tensor(operand, one)

    in_place = [name for name in kept["written"] if name not in kept["returned"]]
    return placed(door, there, in_place, call_with, settle_returned)


def bind(case):
    if door:
        return bind_placed(case)
    call = functools.partial(run, **values_of(case, kept["run"]))
    if takes == "jax":
        call = waiting(call)
    if not kept["returned"]:
        return call, None
    outputs = [operand for operand in case.outputs if operand.name in kept["returned"]]
    results = [None]

    def once():
        results[0] = call()

    def settle():
        given = results[0] if isinstance(results[0], (tuple, list)) else results
        if len(given) != len(outputs):
            raise TypeError(f"`{function}` returned {len(given)} results for {len(outputs)} outputs")
        for operand, result in zip(outputs, given):
            SETTLE[takes](operand, result)

    return once, settle


def refuse(operand, what):
    shape = "×".join(map(str, operand.shape))
    raise TypeError(f"`{function}` returned {what} for `{operand.name}`, which is {operand.dtype} of {shape}")


# Elements as `memoryview` knows them; of those that Python has no type for, the bits.
FORMATS = {"f64": "d", "f32": "f", "i64": "q", "i32": "i", "u32": "I", "i8": "b"}


def buffer(operand, is_written):
    flat = memoryview(memory(operand)).cast("B")
    letter = FORMATS.get(operand.dtype, "H" if operand.item_bytes == 2 else "B")
    if 0 in operand.shape or not operand.shape:
        view = flat.cast(letter)
    else:
        view = flat.cast(letter, operand.shape)
    return view if is_written else view.toreadonly()


def settle_buffer(operand, result):
    home = memoryview(memory(operand)).cast("B")
    if not isinstance(result, (bytes, bytearray, memoryview)) or len(bytes(result)) != len(home):
        refuse(operand, type(result).__name__)
    home[:] = bytes(result)


def array(operand, is_written):
    import numpy

    names = {"f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "u32": "u4", "i8": "i1", "u8": "u1"}
    if operand.dtype in names:
        dtype = numpy.dtype(names[operand.dtype])
    else:
        import ml_dtypes

        others = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
        dtype = numpy.dtype(getattr(ml_dtypes, others[operand.dtype]))
    steps = [step * dtype.itemsize for step in strides(operand)]
    made = numpy.ndarray(operand.shape, dtype, memory(operand), strides=steps)
    made.flags.writeable = is_written
    return made


def settle_array(operand, result):
    import numpy

    home = array(operand, True)
    # An array of another class may compute its elements when they are read, after the clock.
    if type(result) is not numpy.ndarray and not isinstance(result, numpy.generic):
        refuse(operand, type(result).__name__)
    if result.shape != home.shape or result.dtype != home.dtype:
        refuse(operand, f"{result.dtype} of {'×'.join(map(str, result.shape))}")
    numpy.copyto(home, result)


def tensor(operand, is_written):
    import torch

    names = {
        "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
        "i64": torch.int64, "i32": torch.int32, "u32": torch.uint32, "i8": torch.int8, "u8": torch.uint8,
        "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2,
    }
    dtype = names[operand.dtype]
    if 0 in operand.shape:
        return torch.empty(operand.shape, dtype=dtype)
    flat = torch.frombuffer(memory(operand), dtype=torch.uint8).view(dtype)
    return flat.as_strided(operand.shape, strides(operand))


def settle_tensor(operand, result):
    import torch

    home = tensor(operand, True)
    # A tensor of another class or device may compute its elements when they are read.
    where = torch.device(door.memory if door else "cpu").type
    if type(result) is not torch.Tensor or result.device.type != where:
        refuse(operand, type(result).__name__)
    if result.shape != home.shape or result.dtype != home.dtype:
        refuse(operand, f"{result.dtype} of {'×'.join(map(str, result.shape))}")
    home.copy_(result.detach())


def on_device(operand, is_written):
    """An array of JAX on the same memory; if that cannot be, what makes a copy before each call."""
    import jax

    made = array(operand, is_written)
    if not made.flags.c_contiguous or made.ctypes.data % 64 or made.size == 0:
        return Copied(made)
    shared = jax.device_put(made, may_alias=True)
    return shared if shared.unsafe_buffer_pointer() == made.ctypes.data else Copied(made)


class Copied:
    """Data that JAX copies anew for each call, because it may have changed."""

    def __init__(self, data):
        self.data = data


def waiting(call):
    """A call of JAX that has ended when it returns."""
    import jax
    import jax.numpy

    def renewed(value):
        return jax.numpy.array(value.data, copy=True) if isinstance(value, Copied) else value

    given = call.keywords
    if any(isinstance(value, Copied) for value in given.values()):
        return lambda: jax.block_until_ready(run(**{name: renewed(given[name]) for name in given}))
    return lambda: jax.block_until_ready(call())


def settle_jax(operand, result):
    import jax
    import numpy

    if not isinstance(result, jax.Array):
        refuse(operand, type(result).__name__)
    settle_array(operand, numpy.asarray(result))


TENSORS = {"buffer": buffer, "numpy": array, "torch": tensor, "jax": on_device}
SETTLE = {"buffer": settle_buffer, "numpy": settle_array, "torch": settle_tensor, "jax": settle_jax}
