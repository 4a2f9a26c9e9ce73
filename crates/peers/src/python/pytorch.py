"""PyTorch: what its users write for an op, as it is or through torch.compile."""

import ctypes
import math
import os
import shutil

import torch
import torch.nn.functional as F

DTYPES = {
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    # Positions are below 2^31, and few functions take the unsigned type.
    "u32": torch.int32,
    "i32": torch.int32,
    "i8": torch.int8,
    "f8e4m3": torch.float8_e4m3fn,
    "f8e5m2": torch.float8_e5m2,
}
COMPILED = os.environ["PROOFMARK_TORCH_COMPILE"] == "1"
kept = {"mode": torch.inference_mode()}
# Kept, because the end of it would end the mode.
kept["mode"].__enter__()
torch.set_num_interop_threads(1)
if COMPILED:
    if not any(map(shutil.which, [os.environ.get("CXX", "g++"), "clang++", "c++"])):
        raise RuntimeError("torch.compile needs a C++ compiler: install g++ or name one in CXX")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ.get("PROOFMARK_SCRATCH") or os.path.join(place, "compiled")
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
    if case.op == "gelu":
        # oneDNN's makes NaN of infinity, and overflows beyond half of the largest number.
        torch.backends.mkldnn.set_flags(_enabled=False)
        said.append("gelu without oneDNN")
    is_composed = case.op == "matmul" and has_epilogue(case)
    returns = COMPILED or case.op not in OUT or is_composed
    return {
        "version": torch.__version__,
        "build": "; ".join(said + ["inductor"] * COMPILED),
        "isa": kept.get("isa", torch.backends.cpu.get_cpu_capability()),
        "memory": "new memory for each result" * returns + MORE_MEMORY.get(case.op, ""),
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
    dtype = DTYPES[operand.dtype]
    flat = torch.frombuffer(memory(operand), dtype=torch.uint8).view(dtype)
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
    if case.op in IN_PLACE and case.attrs["inplace"]:
        return IN_PLACE[case.op](*outputs), None
    call = OUT[case.op](case, inputs, *outputs) if case.op in OUT else None
    if call:
        return call, None
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


ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


def has_epilogue(case):
    return case.attrs["bias"] or case.attrs["activation"] != "none"


def matmul(case):
    transposed = case.attrs["layout"] == "nt"
    product = (lambda a, b: a @ b.mT) if transposed else (lambda a, b: a @ b)
    if case.attrs["bias"]:
        # A linear layer takes its weight as [n, k], or any view of it.
        turn = (lambda b: b) if transposed else (lambda b: b.mT)
        product = lambda a, b, bias: F.linear(a, turn(b), bias)
    activation = ACTIVATIONS.get(case.attrs["activation"])
    return (lambda *inputs: activation(product(*inputs))) if activation else product


def matmul_out(case, inputs, c):
    if has_epilogue(case):
        return None
    a, b = inputs
    b = b.mT if case.attrs["layout"] == "nt" else b
    return lambda: torch.matmul(a, b, out=c)


def softmax(case):
    if case.attrs["mask"] == "none":
        return lambda x: torch.softmax(x, -1)
    rows, length = case.axes["s"], case.axes["d"]
    hidden = torch.ones(rows, length, dtype=torch.bool).triu(length - rows + 1)
    return lambda x: torch.softmax(x.masked_fill(hidden, float("-inf")), -1)


def softmax_out(case, inputs, y):
    x = inputs[0]
    if case.attrs["mask"] == "none":
        return lambda: torch.softmax(x, -1, out=y)
    call = softmax(case)
    return lambda: y.copy_(call(x))


def log_softmax_out(case, inputs, y):
    x = inputs[0]
    return lambda: torch.log_softmax(x, -1, out=y)


def pointwise(function):
    """A function of elements that writes its result to a given tensor."""

    def out(case, inputs, y):
        operands = [y, *inputs] if case.attrs["inplace"] else inputs
        return lambda: function(*operands, out=y)

    return out


def axpy(case):
    # It takes a number of Python, which has more digits than the op's factor.
    alpha = ctypes.c_float(case.attrs["alpha"]).value
    return lambda x, y, **out: torch.add(y, x, alpha=alpha, **out)


def axpy_out(case, inputs, z):
    return pointwise(axpy(case))(case, inputs, z)


def rms_norm(case):
    eps = case.attrs["eps"]
    if has(case, "variant", "gemma"):
        return lambda x, w: F.rms_norm(x.float(), w.shape, 1 + w.float(), eps).to(x.dtype)
    return lambda x, w: F.rms_norm(x, w.shape, w, eps)


def layer_norm(case):
    eps = case.attrs["eps"]
    return lambda x, gamma, beta: F.layer_norm(x, gamma.shape, gamma, beta, eps)


def add_rms_norm(case):
    norm = rms_norm(case)

    def call(x, residual, w):
        total = x + residual
        return total, norm(total, w)

    return call


def qk_norm(case):
    norm = rms_norm(case)
    if case.attrs["which"] == "both":
        return lambda q, k, wq, wk: (norm(q, wq), norm(k, wk))
    return norm


def rope(case):
    half = (case.attrs["part"] or case.axes["d"]) // 2
    exact = case.attrs["angles"] == "exact"
    interleaved = case.attrs["pairing"] == "gptj"

    def frequencies():
        exponents = -torch.arange(half, dtype=torch.float64) / half
        plain = case.attrs["theta"] ** exponents
        scaling, factor = case.attrs["scaling"], case.attrs["factor"]
        if scaling == "none":
            return plain
        kept = ((8192 * plain / math.tau - 1) / 3).clamp(0, 1) if scaling == "llama3" else 0
        return plain * (kept + (1 - kept) / factor)

    steps = frequencies()

    def call(x, *angles):
        if exact:
            turned = angles[0].double()[:, None] * steps
            cos, sin = turned.cos().float(), turned.sin().float()
        else:
            cos, sin = angles
        cos, sin = cos[:, None], sin[:, None]
        head = x[..., : 2 * half].float()
        if interleaved:
            a, b = head[..., 0::2], head[..., 1::2]
            y = torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)
        else:
            a, b = head[..., :half], head[..., half:]
            y = torch.cat((a * cos - b * sin, b * cos + a * sin), -1)
        return torch.cat((y.to(x.dtype), x[..., 2 * half :]), -1)

    return call


def cast(case):
    to = DTYPES[case.attrs["to"]]
    return lambda x: x.to(to, copy=True)


def dot(case):
    if case.axes["b"] * case.axes["s"] == 1:
        return lambda x, y: torch.dot(x.view(-1), y.view(-1)).view(1, 1)
    return torch.linalg.vecdot


def cast_out(case, inputs, y):
    x = inputs[0]
    return lambda: y.copy_(x)


def transpose_out(case, inputs, y):
    turned = inputs[0].mT
    return lambda: y.copy_(turned)


def spread(scales, tile, shape):
    """The scale of each element: a block of `tile` shares one."""
    for axis, count in enumerate(tile):
        if COMPILED:
            # Of repeated scales that are cut to a row, times converted codes, inductor 2.15 makes
            # code that reads past them.
            scales = scales.index_select(axis, torch.arange(shape[axis]) // count)
        else:
            scales = scales.repeat_interleave(count, axis).narrow(axis, 0, shape[axis])
    return scales


def blocks(x, tile):
    """The elements of each block along the last axis; short blocks are filled with zeros."""
    (rows, cols), (height, width) = x.shape, tile
    down, across = -(-rows // height), -(-cols // width)
    x = F.pad(x, (0, across * width - cols, 0, down * height - rows))
    return x.view(down, height, across, width).transpose(1, 2).reshape(down, across, -1)


def step(span, steps):
    """Scale and inverse of each block; which of them are not void."""
    # A number divided by a tensor would be its product with rounded reciprocals.
    inverse = torch.full_like(span, steps) / span
    whole = torch.isfinite(span) & torch.isfinite(inverse)
    void = torch.where(torch.isfinite(span), 0.0, torch.nan)
    return torch.where(whole, span / steps, void), inverse, whole


def scaled(x, tile, span, steps):
    """Elements times the inverse of their block, 0 where it is void; the scales."""
    scale, inverse, whole = step(span, steps)
    inverse, whole = (spread(part, tile, x.shape) for part in (inverse, whole))
    return torch.where(whole, x * inverse, 0.0), scale


def int8_tile(case, shape):
    scheme, group = case.attrs["scheme"], case.attrs["group"]
    return {"tensor": shape, "channel": (1, shape[1]), "group": (1, group)}[scheme]


def quantize_int8(case):
    def call(x):
        flat = x.float().view(-1, x.shape[-1])
        tile = int8_tile(case, flat.shape)
        parts = blocks(flat, tile)
        shape = x.shape[:2] + ((-1,) if case.attrs["scheme"] == "group" else ())
        shape = (1,) if case.attrs["scheme"] == "tensor" else shape
        if case.attrs["symmetric"]:
            codes, scale = scaled(flat, tile, parts.abs().amax(-1), 127.0)
            return codes.round().clamp(-128, 127).to(torch.int8).view(x.shape), scale.view(shape)
        low, high = parts.amin(-1).clamp(max=0), parts.amax(-1).clamp(min=0)
        scale, inverse, whole = step(high - low, 255.0)
        zero = torch.where(whole, (-128 - low * inverse).round().clamp(-128, 127), 0.0)
        inverse, offset, whole = (spread(part, tile, flat.shape) for part in (inverse, zero, whole))
        codes = torch.where(whole, (flat * inverse).round() + offset, 0.0).clamp(-128, 127)
        zero = zero.to(torch.int32).view(shape)
        return codes.to(torch.int8).view(x.shape), scale.view(shape), zero

    return call


def dequantize_int8(case):
    def call(codes, scales, zeros=None):
        flat = codes.view(-1, codes.shape[-1])
        tile = int8_tile(case, flat.shape)
        counts = -(-flat.shape[0] // tile[0]), -(-flat.shape[1] // tile[1])
        values = flat.float()
        if zeros is not None:
            values = values - spread(zeros.view(counts), tile, flat.shape)
        values = values * spread(scales.view(counts), tile, flat.shape)
        return values.view(codes.shape).to(DTYPES[case.dtype])

    return call


def fp8_tile(case, shape):
    block = case.attrs["block"]
    return {"1x128": (1, 128), "128x128": (128, 128)}.get(block, shape)


def quantize_fp8(case):
    dtype = DTYPES["f8" + case.attrs["format"]]
    largest = torch.finfo(dtype).max
    unit, saturate = case.attrs["block"] == "unit", case.attrs["overflow"] != "nan"

    def call(x):
        x = x.float()
        if unit:
            return (x.clamp(-largest, largest) if saturate else x).to(dtype)
        tile = fp8_tile(case, x.shape)
        codes, scale = scaled(x, tile, blocks(x, tile).abs().amax(-1), largest)
        return codes.to(dtype), scale.view(1) if tile == x.shape else scale

    return call


def dequantize_fp8(case):
    def call(codes, scales=None):
        values = codes.float()
        if scales is not None:
            tile = fp8_tile(case, codes.shape)
            scales = scales.view(-(-codes.shape[0] // tile[0]), -1)
            values = values * spread(scales, tile, codes.shape)
        return values.to(DTYPES[case.dtype])

    return call


def matmul_int8(case):
    if case.attrs["out"] == "i32":
        return lambda a, b: torch._int_mm(a, b.t())
    return lambda a, b, left, right: torch._int_mm(a, b.t()).float() * left[:, None] * right


def matmul_q8(case):
    tile = (1, case.attrs["group"])
    return lambda x, codes, scales: x @ (codes.float() * spread(scales, tile, codes.shape)).mT


def matmul_fp8_block(case):
    size = case.attrs["block"]
    e4m3 = DTYPES["f8e4m3"]

    def product(a, left, b, right):
        a = a.float() * spread(left, (1, size), a.shape)
        b = b.float() * spread(right, (size, size), b.shape)
        return (a @ b.mT).to(DTYPES[case.dtype])

    def quantised(a, b, right):
        a = a.float()
        codes, left = scaled(a, (1, size), blocks(a, (1, size)).abs().amax(-1), 448.0)
        return product(codes.to(e4m3), left, b, right)

    return quantised if case.attrs["activations"] == "quantised" else product


def attention(case):
    queries, keys = case.axes["q"], case.axes["t"]
    kind, scale = case.attrs["mask"], case.attrs["scale"] or None
    window = case.attrs["window"] if kind == "window" else keys
    shared = case.axes["h"] != case.axes["kv"]
    if queries == 1 and kind != "none":
        # Generating: a user keeps the keys that the window shows, and needs no mask.
        kind, first = "none", max(keys - window, 0)
        cut = lambda x: x[..., first:, :]
    else:
        cut = lambda x: x
    causal, mask = kind == "causal" and queries == keys, None
    if kind != "none" and not causal:
        # Its own causal mask begins at the first key, ours ends at the last.
        position = torch.arange(queries)[:, None] + (keys - queries)
        key = torch.arange(keys)
        mask = (key <= position) & (key > position - window)

    def call(q, k, v):
        return F.scaled_dot_product_attention(
            q, cut(k), cut(v), mask, is_causal=causal, scale=scale, enable_gqa=shared
        )

    return call


def fft(case):
    names = "xyz"
    dim = [1 + i for i, axis in enumerate(names) if axis == "z" or case.axes[axis] > 1]
    kind, inverse = case.attrs["kind"], case.attrs["direction"] == "inverse"
    if kind == "r2c":
        return lambda x: torch.view_as_real(torch.fft.rfftn(x, dim=dim))
    if kind == "c2r":
        sizes = [case.axes[names[i - 1]] for i in dim]
        return lambda x: torch.fft.irfftn(torch.view_as_complex(x), sizes, dim)
    transform = torch.fft.ifftn if inverse else torch.fft.fftn
    return lambda x: torch.view_as_real(transform(torch.view_as_complex(x), dim=dim))


def csr(case, pointers, columns, values):
    size = case.axes["m"], case.axes["n"]
    return torch.sparse_csr_tensor(pointers, columns, values, size, check_invariants=False)


def sparse_product(case):
    made = []

    def call(pointers, columns, values, x):
        # A user makes the matrix once, in memory of PyTorch; it lies where the operands do but for
        # the columns: MKL reads past their end, which only memory of its own bears.
        if not made:
            own = torch.empty(len(columns) + 64, dtype=columns.dtype)[: len(columns)]
            made.append((own, csr(case, pointers, own, values)))
        own, matrix = made[0]
        own.copy_(columns)
        return matrix @ x

    return call


def coo_to_csr(case):
    size = case.axes["m"], case.axes["n"]

    def call(rows, columns, values):
        made = torch.sparse_coo_tensor(torch.stack((rows, columns)), values, size).to_sparse_csr()
        return made.crow_indices(), made.col_indices(), made.values()

    return call


def csr_to_coo(case):
    def call(pointers, columns, values):
        made = csr(case, pointers, columns, values).to_sparse_coo()
        return *made._indices(), made._values()

    return call


def conv(function):
    """A convolution along as many axes as the function's name says."""

    def made(case):
        rest = [case.attrs[name] for name in ("stride", "pad", "dilation", "groups")]
        return lambda x, w, bias=None: function(x, w, bias, *rest)

    return made


# One layer of one direction, with biases, steps first.
ONE_LAYER = True, 1, 0.0, False, False, False


def lstm(case):
    def call(x, h, c, *weights):
        y, h, c = torch.lstm(x, (h[None], c[None]), weights, *ONE_LAYER)
        return y, h[0], c[0]

    return call


def gru(case):
    def call(x, h, *weights):
        y, h = torch.gru(x, h[None], weights, *ONE_LAYER)
        return y, h[0]

    return call


def axes(case):
    """The axes that a reduction is along."""
    return {"d": (2,), "s": (1,), "b": (0,), "all": (0, 1, 2)}[case.attrs["axis"]]


def variance(x, dims, correction, **out):
    return torch.var(x, dims, correction=correction, **out)


def reduction(op):
    def made(case):
        dims, options = axes(case), {}
        if op == "variance":
            options["correction"] = case.attrs["correction"]
        return lambda x, **out: REDUCTIONS[op](x, dims, **options, **out)

    return made


def reduction_out(op):
    def made(case, inputs, y):
        call, x = reduction(op)(case), inputs[0]
        y = y.view(()) if len(axes(case)) == 3 else y
        return lambda: call(x, out=y)

    return made


def argmax(case):
    dims = axes(case)
    dim = dims[0] if len(dims) == 1 else None
    return lambda x: torch.argmax(x, dim)


def mse(case):
    # As its automatic mixed precision does it: losses are f32.
    kind = case.attrs["reduction"]
    return lambda x, target: F.mse_loss(x.float(), target.float(), reduction=kind)


def cross_entropy(case):
    options = {
        "reduction": case.attrs["reduction"],
        "label_smoothing": case.attrs["smoothing"],
        "ignore_index": case.attrs["ignore"],
    }
    return lambda x, targets: F.cross_entropy(x.float(), targets.long(), **options)


def layer_norm_grad(case):
    eps = case.attrs["eps"]
    backward = torch.ops.aten.native_layer_norm_backward

    def call(x, gamma, dy):
        # A model has kept mean and root; here they are part of the op.
        var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        root = torch.rsqrt(var + eps)
        return backward(dy, x, list(gamma.shape), mean, root, gamma, gamma, [True] * 3)

    return call


REDUCTIONS = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax, "variance": variance}
POINTWISE = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "exp": torch.exp,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
}
# An op as a function of its inputs, made for a case; several results are a tuple.
FUNCTIONS = {
    "attention": attention,
    "fft": fft,
    "spmv": sparse_product,
    "spmm": sparse_product,
    "coo_to_csr": coo_to_csr,
    "csr_to_coo": csr_to_coo,
    "conv1d": conv(F.conv1d),
    "conv2d": conv(F.conv2d),
    "gru": gru,
    "lstm": lstm,
    "quantize_int8": quantize_int8,
    "dequantize_int8": dequantize_int8,
    "quantize_fp8": quantize_fp8,
    "dequantize_fp8": dequantize_fp8,
    "matmul_int8": matmul_int8,
    "matmul_q8": matmul_q8,
    "matmul_fp8_block": matmul_fp8_block,
    "matmul": matmul,
    "softmax": softmax,
    "log_softmax": lambda case: lambda x: torch.log_softmax(x, -1),
    "layer_norm": layer_norm,
    "add_rms_norm": add_rms_norm,
    "qk_norm": qk_norm,
    "rope": rope,
    **{op: lambda case, f=f: f for op, f in POINTWISE.items()},
    "axpy": axpy,
    "cast": cast,
    "dot": dot,
    "transpose": lambda case: lambda x: x.mT.contiguous(),
    "relu": lambda case: torch.relu,
    "silu": lambda case: F.silu,
    "gelu": lambda case: F.gelu,
    "gelu_tanh": lambda case: lambda x: F.gelu(x, approximate="tanh"),
    "gelu_quick": lambda case: lambda x: x * torch.sigmoid(1.702 * x),
    "swiglu": lambda case: lambda gate, up: F.silu(gate) * up,
    "geglu": lambda case: lambda gate, up: F.gelu(gate, approximate="tanh") * up,
    "rms_norm": rms_norm,
    **{op: reduction(op) for op in REDUCTIONS},
    "argmax": argmax,
    "mse": mse,
    "cross_entropy": cross_entropy,
    "layer_norm_grad": layer_norm_grad,
    "softmax_grad": lambda case: lambda y, dy: torch._softmax_backward_data(dy, y, -1, y.dtype),
}
# What calls copy beside their results.
MORE_MEMORY = dict.fromkeys(("spmv", "spmm"), "; columns copied for each call")
# Ops that write to given outputs, as calls without arguments; None where a case has no such call.
OUT = {
    "matmul": matmul_out,
    "softmax": softmax_out,
    "log_softmax": log_softmax_out,
    "axpy": axpy_out,
    "cast": cast_out,
    "transpose": transpose_out,
    **{op: pointwise(f) for op, f in POINTWISE.items()},
    **{op: reduction_out(op) for op in REDUCTIONS},
}
# Ops that overwrite their operand by a function of their own.
IN_PLACE = {
    "relu": lambda y: y.relu_,
    "silu": lambda y: lambda: F.silu(y, inplace=True),
}
