"""PyTorch: what its users write for an op, as it is or through torch.compile."""

import os
import shutil

import torch
import torch.nn.functional as F

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
COMPILED = os.environ["PROOFMARK_TORCH_COMPILE"] == "1"
kept = {"mode": torch.inference_mode()}
# Kept, because the end of it would end the mode.
kept["mode"].__enter__()
torch.set_num_interop_threads(1)
if COMPILED:
    if not any(map(shutil.which, [os.environ.get("CXX", "g++"), "clang++", "c++"])):
        raise RuntimeError("torch.compile needs a C++ compiler: install g++ or name one in CXX")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(place, "compiled")
    import torch._inductor.compile_fx
    from torch._inductor import config, cpu_vec_isa

    # They are larger than the files that a worker may write.
    config.cpp_cache_precompile_headers = False
    # Found out once, by compiling and starting a program, for all copies of this process.
    kept["isa"] = str(cpu_vec_isa.pick_vec_isa())


def introduce(case):
    kept.update(case=case, threads=None)
    set_threads(case.threads)
    lines = torch.__config__.show().splitlines()
    said = [line.strip(" -") for line in lines if "oneAPI" in line or "MKL-DNN" in line]
    returns = COMPILED or case.op not in OUT
    return {
        "version": torch.__version__,
        "build": "; ".join(said + ["inductor"] * COMPILED),
        "isa": kept.get("isa", torch.backends.cpu.get_cpu_capability()),
        "memory": "new memory for each result" if returns else "",
        "parallel": True,
    }


def set_threads(count):
    torch.set_num_threads(count)
    if COMPILED and kept["threads"] != count:
        # The count is part of the generated code, which is made when operands are met.
        kept["threads"] = count
        kept["call"] = torch.compile(FUNCTIONS[kept["case"].op](kept["case"]), dynamic=False)


def tensor(operand):
    if 0 in operand.shape:
        return torch.empty(operand.shape, dtype=DTYPES[operand.dtype])
    flat = torch.frombuffer(memory(operand), dtype=DTYPES[operand.dtype])
    return flat.as_strided(operand.shape, strides(operand))


def bind(case):
    inputs = [tensor(operand) for operand in case.inputs]
    outputs = [tensor(operand) for operand in case.outputs]
    if case.op == "matmul" and len(outputs[0]) == 1:
        # One product is a product of matrices, as a user has it.
        inputs = [plane(operand) for operand in inputs]
        outputs = [plane(operand) for operand in outputs]
    if COMPILED:
        return compiled(inputs, outputs)
    if case.op in OUT:
        return OUT[case.op](case, inputs, *outputs), None
    return returning(FUNCTIONS[case.op](case), inputs, outputs)


def plane(operand):
    return operand[0] if operand.dim() == 3 else operand


def returning(call, inputs, outputs):
    """A call whose results lie in new memory until they are settled."""
    results = [None]

    def once():
        results[0] = call(*inputs)

    def settle():
        given = results[0] if isinstance(results[0], tuple) else results
        for output, result in zip(outputs, given, strict=True):
            output.copy_(result)

    return once, settle


def compiled(inputs, outputs):
    """A call of the compiled function, which is made for rows without gaps."""
    call = kept["call"]
    if not all(operand.is_contiguous() for operand in inputs):
        dense = kept["call"]
        call = lambda *inputs: dense(*(x.contiguous() for x in inputs))
    call(*inputs)
    return returning(call, inputs, outputs)


def matmul(case):
    return (lambda a, b: a @ b.mT) if case.transposed else (lambda a, b: a @ b)


def matmul_out(case, inputs, c):
    a, b = inputs
    b = b.mT if case.transposed else b
    return lambda: torch.matmul(a, b, out=c)


def softmax_out(case, inputs, y):
    x = inputs[0]
    return lambda: torch.softmax(x, -1, out=y)


def add_out(case, inputs, c):
    a, b = inputs if len(inputs) == 2 else (c, inputs[0])
    return lambda: torch.add(a, b, out=c)


def rms_norm(case):
    eps = case.eps
    if case.gemma:
        return lambda x, w: F.rms_norm(x.float(), w.shape, 1 + w.float(), eps).to(x.dtype)
    return lambda x, w: F.rms_norm(x, w.shape, w, eps)


# An op as a function of its inputs, made for a case; several results are a tuple.
FUNCTIONS = {
    "matmul": matmul,
    "softmax": lambda case: lambda x: torch.softmax(x, -1),
    "add": lambda case: torch.add,
    "silu": lambda case: F.silu,
    "rms_norm": rms_norm,
}
# Ops that write to given outputs, as calls without arguments.
OUT = {"matmul": matmul_out, "softmax": softmax_out, "add": add_out}
