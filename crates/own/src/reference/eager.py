# Runs a user's reference, or a wrong kernel made of it, on a worker's operands. The worker's bridge
# defines `memory` and `strides`; `modules` is given. What differs between ops is told with the case,
# so that one process can be copied for all of them. Results lie in new memory until they are
# settled.
import sys

import torch

sys.meta_path.insert(0, Finder(modules))
import proofmark_call as calls
import proofmark_gate as gate
import proofmark_mutate as mutate

DTYPES = {**calls.REAL, **calls.WHOLE, "u32": torch.int32}
torch.set_num_interop_threads(1)
# Kept, because the end of it would end the mode.
_mode = torch.no_grad()
_mode.__enter__()


def request_of(case, operands, outputs):
    named = lambda o: {"name": o["name"], "dtype": o["dtype"], "shape": o["shape"], "role": "input"}
    return {"dtype": case.dtype, "axes": case.axes, "attributes": case.attrs,
            "operands": [named(o) for o in operands], "outputs": [named(o) for o in outputs]}


def introduce(case):
    global request, call, order, mutant
    mutant = case.mutant
    reference = calls.Reference(case.file, case.function)
    operands = [o for o in case.operands if not o["is_written"]]
    request = request_of(case, operands, [o for o in case.operands if o["is_written"]])
    call, names = reference.on(request)
    order = [[o["name"] for o in operands].index(name) for name in names]
    if mutant is not None:
        # A flaw sits in a primitive that not every case has.
        generator = torch.Generator().manual_seed(1)
        drawn = [calls.typed(gate.fill("normal", operands[i], generator), operands[i]) for i in order]
        if mutant not in [name for name, _ in mutate.names(call, drawn, request)]:
            raise ValueError(f"`{mutant}` does not exist at these sizes")
    set_threads(case.threads)
    return {"version": torch.__version__, "build": "the reference in the element type, eager",
            "isa": torch.backends.cpu.get_cpu_capability(), "memory": "new memory for each result",
            "parallel": mutant is None, "packs": False}


def set_threads(count):
    torch.set_num_threads(count)


def tensor(operand):
    dtype = DTYPES[operand.dtype]
    if 0 in operand.shape:
        return torch.empty(operand.shape, dtype=dtype)
    flat = torch.frombuffer(memory(operand), dtype=torch.uint8).view(dtype)
    return flat.as_strided(operand.shape, strides(operand))


def bind(case):
    inputs, outputs = [tensor(o) for o in case.inputs], [tensor(o) for o in case.outputs]
    given, results = [inputs[i] for i in order], [None]

    def once():
        if mutant is None:
            results[0] = calls.outputs_of(call(*given), request["outputs"])
        else:
            results[0] = mutate.run(mutant, call, given, request)

    def settle():
        for output, result in zip(outputs, results[0]):
            output.copy_(result.reshape(output.shape))

    return once, settle
