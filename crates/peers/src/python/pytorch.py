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
    if COMPILED:
        prepare(case)
    set_threads(case.threads)
    lines = torch.__config__.show().splitlines()
    said = [line.strip(" -") for line in lines if "oneAPI" in line or "MKL-DNN" in line]
    returns = COMPILED or case.op in ("silu", "rms_norm")
    return {
        "version": torch.__version__,
        "build": "; ".join(said + ["inductor"] * COMPILED),
        "isa": kept.get("isa", torch.backends.cpu.get_cpu_capability()),
        "memory": "new memory for each result" if returns else "",
        "parallel": True,
    }


def set_threads(count):
    torch.set_num_threads(count)
    if COMPILED and kept.get("threads") != count:
        # The count is part of the generated code.
        kept["threads"] = count
        kept["call"] = torch.compile(function(kept["case"]), dynamic=False)
        kept["call"](*kept["examples"])


def tensor(operand):
    if 0 in operand.shape:
        return torch.empty(operand.shape, dtype=DTYPES[operand.dtype])
    flat = torch.frombuffer(memory(operand), dtype=DTYPES[operand.dtype])
    return flat.as_strided(operand.shape, strides(operand))


def bind(case):
    inputs = [tensor(operand) for operand in case.inputs]
    output = tensor(case.outputs[0])
    if case.op == "matmul" and len(output) == 1:
        # One product is a product of matrices, as a user has it.
        inputs = [plane(operand) for operand in inputs]
        output = plane(output)
    if COMPILED:
        return compiled(inputs, output)
    if case.op == "matmul":
        a, b = inputs
        b = b.mT if case.transposed else b
        return (lambda: torch.matmul(a, b, out=output)), None
    if case.op == "softmax":
        x = inputs[0]
        return (lambda: torch.softmax(x, -1, out=output)), None
    if case.op == "add":
        a, b = inputs if len(inputs) == 2 else (output, inputs[0])
        return (lambda: torch.add(a, b, out=output)), None
    return returning(function(case), inputs, output)


def plane(operand):
    return operand[0] if operand.dim() == 3 else operand


def returning(call, inputs, output):
    """A call whose result lies in new memory until it is settled."""
    results = [None]

    def once():
        results[0] = call(*inputs)

    return once, lambda: output.copy_(results[0])


def function(case):
    """The op as a function of its inputs."""
    eps = case.eps
    if case.op == "matmul":
        return (lambda a, b: a @ b.mT) if case.transposed else (lambda a, b: a @ b)
    if case.op == "softmax":
        return lambda x: torch.softmax(x, -1)
    if case.op == "add":
        return lambda a, b: a + b
    if case.op == "silu":
        return F.silu
    if case.gemma:
        return lambda x, w: F.rms_norm(x.float(), w.shape, 1 + w.float(), eps).to(x.dtype)
    return lambda x, w: F.rms_norm(x, w.shape, w, eps)


def prepare(case):
    """Keeps what torch.compile needs: the case, and operands of its shapes."""
    size = case.axes
    if case.op == "matmul":
        right = [size["n"], size["k"]] if case.transposed else [size["k"], size["n"]]
        batch = [size["b"]] if size["b"] != 1 else []
        shapes = [batch + [size["m"], size["k"]], right if case.shared else batch + right]
    else:
        full = [size["b"], size["s"], size["d"]]
        shapes = {"add": [full, full], "rms_norm": [full, full[2:]]}.get(case.op, [full])
    kept.update(case=case, threads=None)
    kept["examples"] = [torch.ones(shape, dtype=DTYPES[case.dtype]) for shape in shapes]


def compiled(inputs, output):
    """A call of the compiled function, which was made for rows without gaps."""
    if all(operand.is_contiguous() for operand in inputs):
        return returning(kept["call"], inputs, output)
    call = kept["call"]
    return returning(lambda *inputs: call(*(x.contiguous() for x in inputs)), inputs, output)
