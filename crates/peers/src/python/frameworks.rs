//! The frameworks: what each is, the ops that it has, and the cases that it refuses.

use super::composed::{no, no_softmax_in_place, one_entry_a_place};
use super::{Framework, composed};
use crate::Needs;
use proofmark_contract::{ExplicitCase, Unsupported};
use proofmark_schema::DType;

#[rustfmt::skip] // By kind.
const TORCH_OPS: &[&str] = &[
    "matmul", "softmax", "rms_norm", "add", "sub", "mul", "div", "axpy", "relu", "exp", "tanh",
    "sigmoid", "silu", "gelu", "gelu_tanh", "gelu_quick", "swiglu", "geglu", "cast", "dot",
    "transpose", "layer_norm", "add_rms_norm", "qk_norm", "log_softmax", "rope",
    "dequantize_fp8", "dequantize_int8", "matmul_fp8_block", "matmul_int8", "matmul_q8",
    "quantize_fp8", "quantize_int8", "attention", "sum", "mean", "max", "argmax", "variance", "mse",
    "cross_entropy", "layer_norm_grad", "softmax_grad",
    "conv1d", "conv2d", "gru", "lstm",
    "fft", "spmv", "spmm", "coo_to_csr", "csr_to_coo",
];

/// An interpreter whose framework compiles machine code while it runs.
const COMPILES_IN_MEMORY: Needs = Needs { interpreter: true, jit: true, compiler: false };

pub(crate) const NUMPY: Framework = Framework {
    name: "numpy",
    summary: "NumPy with SciPy: one call where they have one, else a few",
    packages: &["numpy", "scipy"],
    lock: include_str!("../../locks/numpy.txt"),
    shelved_as: "numpy",
    script: include_str!("numpy.py"),
    // Idle threads sleep at once instead of after 2^26 cycles.
    environment: &[("OPENBLAS_THREAD_TIMEOUT", "4"), ONE_BLAS_THREAD],
    ops: composed::NUMPY_OPS,
    supports: composed::numpy_supports,
    flushes: composed::NUMPY_SIGMOID,
    // SciPy takes 0 for a greatest element that is infinite. The result is -infinity instead of
    // NaN, in the losses too. Its softmax returns NaN for scores that are all -infinity.
    finite_only: |case| matches!(case.op.as_str(), "cross_entropy" | "log_softmax" | "attention"),
    needs: Needs { interpreter: true, jit: false, compiler: false },
    opens_ms: 130,
    prepares_ms: 0,
};

pub(crate) const PYTORCH: Framework = Framework {
    name: "pytorch",
    summary: "PyTorch, eager: one call of torch or torch.nn.functional",
    packages: TORCH,
    lock: include_str!("../../locks/pytorch.txt"),
    shelved_as: "pytorch",
    script: include_str!("pytorch.py"),
    environment: &[("PROOFMARK_TORCH_COMPILE", "0"), ONE_BLAS_THREAD],
    ops: TORCH_OPS,
    supports: torch_supports,
    flushes: SIGMOID,
    finite_only: torch_is_finite_only,
    needs: COMPILES_IN_MEMORY,
    opens_ms: 2000,
    prepares_ms: 0,
};

pub(crate) const PYTORCH_COMPILE: Framework = Framework {
    name: "pytorch_compile",
    summary: "PyTorch, compiled: the same functions through torch.compile; needs a C++ compiler",
    packages: TORCH,
    lock: include_str!("../../locks/pytorch.txt"),
    shelved_as: "pytorch",
    script: include_str!("pytorch.py"),
    environment: &[
        ("PROOFMARK_TORCH_COMPILE", "1"),
        ("TORCHINDUCTOR_COMPILE_THREADS", "1"),
        ONE_BLAS_THREAD,
    ],
    ops: TORCH_OPS,
    supports: |case| match case.op.as_str() {
        _ if case.is_set("inplace") => no("a compiled function returns its result in new memory"),
        "fft" | "spmv" | "spmm" | "coo_to_csr" | "csr_to_coo" => {
            no("its compiler leaves complex numbers and sparse matrices to the eager functions")
        }
        "quantize_int8" if composed::has_rest(case)? => {
            no("the code that inductor 2.15 makes of a padded row reads past its end")
        }
        "matmul_fp8_block" if has_one_short_row_of_scales(case)? => {
            no("the code of inductor 2.15 reads past one row of scales whose last block is short")
        }
        _ => torch_supports(case),
    },
    flushes: SIGMOID,
    finite_only: torch_is_finite_only,
    needs: Needs { compiler: true, ..COMPILES_IN_MEMORY },
    opens_ms: 2500,
    prepares_ms: 9900,
};

pub(crate) const JAX: Framework = Framework {
    name: "jax",
    summary: "JAX on the CPU: one function through jax.jit",
    packages: &["jax", "jaxlib", "numpy"],
    lock: include_str!("../../locks/jax.txt"),
    shelved_as: "jax",
    script: include_str!("jax.py"),
    environment: &[("JAX_PLATFORMS", "cpu"), ONE_BLAS_THREAD],
    ops: composed::OPS,
    supports: composed::jax_supports,
    // XLA makes the processor flush subnormals.
    flushes: composed::OPS,
    // Its max ignores NaN, and scores that are all -infinity give NaN.
    finite_only: |case| matches!(case.op.as_str(), "max" | "attention"),
    needs: COMPILES_IN_MEMORY,
    opens_ms: 700,
    prepares_ms: 600,
};

/// Whether the weight's scales are one row of several, and its last block is short.
fn has_one_short_row_of_scales(case: &ExplicitCase) -> Result<bool, Unsupported> {
    let block = case.int("block")?.max(1) as u64;
    let (n, k) = (case.size("n").unwrap_or(0), case.size("k").unwrap_or(0));
    Ok(n <= block && k > block && !k.is_multiple_of(block))
}

/// Sigmoids by an exponential that overflows where the result is not zero yet.
const SIGMOID: &[&str] = &["silu", "sigmoid", "gelu_quick", "lstm"];

/// Activations that use `1 + erf` or `1 + tanh`, which is 0 where the result is not zero yet, and
/// those that multiply what a sigmoid has lost.
pub(super) const TEXTBOOK: &[&str] = &["gelu", "gelu_tanh", "geglu", "swiglu"];

const TORCH: &[&str] = &["torch", "numpy"];

/// Every framework brings NumPy and its BLAS along. Threads that the BLAS starts while it is loaded
/// would be missing from copies of the process. For calls that want threads they are started later.
const ONE_BLAS_THREAD: (&str, &str) = ("OPENBLAS_NUM_THREADS", "1");

fn torch_supports(case: &ExplicitCase) -> Result<(), Unsupported> {
    let is_empty = case.axes.iter().any(|(_, size)| *size == 0);
    if is_empty && (case.op.contains("quantize") || case.op.starts_with("matmul_")) {
        return no("it has no greatest element of a group without elements, nor empty sums");
    }
    match case.op.as_str() {
        "max" if is_empty => return no("it has no largest of no elements"),
        "layer_norm_grad" if is_empty => return no("it is not called without elements"),
        "mean" if case.dtype != DType::F32 => {
            return no("it rounds the sum to the element type before it divides");
        }
        "layer_norm_grad" if case.dtype != DType::F32 => {
            return no("it keeps mean and root in the element type");
        }
        "layer_norm" if case.dtype != DType::F32 && case.size("d") == Some(1) => {
            return no("in 16 bits it subtracts x · r and mean · r, which leaves their rounding");
        }
        "conv1d" | "conv2d" if case.size("c") == Some(0) => {
            return no("it has no convolution without channels");
        }
        "gru" | "lstm" if is_empty => return no("its recurrent layers have no empty axes"),
        "dot" if case.dtype != DType::F32 => {
            return no("its results have the element type of its operands");
        }
        "axpy" if case.dtype != DType::F32 => {
            return no("it rounds alpha · x to the element type before it adds y");
        }
        "gelu_quick" | "swiglu" | "geglu" if case.dtype != DType::F32 => {
            return no("composed of its functions, it rounds to the element type in between");
        }
        "gelu" | "gelu_tanh" | "gelu_quick" | "swiglu" | "geglu" if case.is_set("inplace") => {
            return no("it has no such function in place");
        }
        "matmul" => torch_multiplies(case)?,
        // Seen with PyTorch 2.15; only unscaled elements overflow.
        "quantize_fp8"
            if case.word("block")? == "unit"
                && case.word("overflow")? == "nan"
                && case.word("format")? == "e4m3" =>
        {
            return no("its conversion to e4m3 saturates");
        }
        "log_softmax" if case.dtype != DType::F32 => {
            return no("it rounds the logarithm of the sum to the element type on the way");
        }
        "spmv" | "spmm" if case.word("format")? == "coo" => {
            return no("its indices of entries are one tensor of 64 bits");
        }
        "rope" if case.flag("inplace")? => {
            return no("its users make new memory of a turned head");
        }
        _ => {}
    }
    one_entry_a_place(case)?;
    no_softmax_in_place(case)
}

fn torch_multiplies(case: &ExplicitCase) -> Result<(), Unsupported> {
    let is_short = case.dtype != DType::F32;
    if is_short && !matches!(case.word("activation")?, "none" | "relu") {
        return no("it rounds the sum to the element type before the activation");
    }
    if case.flag("bias")? && case.size("b").unwrap_or(1) > 1 && !case.flag("shared")? {
        return no("a linear layer has one weight for all batches");
    }
    if is_short && case.word("out")? == "f32" {
        return no("its results have the element type of its operands");
    }
    // Seen with PyTorch 2.15 on AMX: the last pair of a row is read whole, which includes the first
    // element of the next row, or what lies behind the operand.
    if is_short && case.size("k").unwrap_or(0) % 2 == 1 {
        return no("with an odd k it reads past the end of A");
    }
    Ok(())
}

/// Seen with PyTorch 2.15: a row of NaN scores gives zeros, gelu returns NaN for +infinity, and AMX
/// tiles of 16 bits reach into the next rows and multiply by 0 what they find there.
fn torch_is_finite_only(case: &ExplicitCase) -> bool {
    match case.op.as_str() {
        "attention" => true,
        "matmul" => case.dtype != DType::F32 || case.is("activation", "gelu"),
        _ => false,
    }
}
