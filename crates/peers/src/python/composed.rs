//! What NumPy and JAX have a call for, or what their users compose of a few.

use proofmark_contract::{ExplicitCase, Unsupported};
use proofmark_schema::DType;

/// The ops of both.
pub(super) const OPS: &[&str] = &[
    "add",
    "add_rms_norm",
    "argmax",
    "attention",
    "axpy",
    "cast",
    "cross_entropy",
    "dequantize_int8",
    "div",
    "dot",
    "exp",
    "fft",
    "geglu",
    "gelu",
    "gelu_quick",
    "gelu_tanh",
    "layer_norm",
    "layer_norm_grad",
    "log_softmax",
    "matmul",
    "matmul_int8",
    "matmul_q8",
    "max",
    "mean",
    "mse",
    "mul",
    "qk_norm",
    "relu",
    "rms_norm",
    "rope",
    "sigmoid",
    "silu",
    "softmax",
    "softmax_grad",
    "sub",
    "sum",
    "swiglu",
    "tanh",
    "transpose",
    "variance",
];

/// Those of NumPy with SciPy, which has sparse matrices.
pub(super) const NUMPY_OPS: &[&str] = &{
    const SPARSE: [&str; 4] = ["coo_to_csr", "csr_to_coo", "spmm", "spmv"];
    let mut ops = [""; OPS.len() + SPARSE.len()];
    let (own, more) = ops.split_at_mut(OPS.len());
    own.copy_from_slice(OPS);
    more.copy_from_slice(&SPARSE);
    ops
};

/// The ops in which NumPy's sigmoids lose results that are nearly zero.
pub(super) const NUMPY_SIGMOID: &[&str] = &["silu", "gelu_quick", "sigmoid"];

/// Whether NumPy does a case.
pub(super) fn numpy_supports(case: &ExplicitCase) -> Result<(), Unsupported> {
    const ONE_STEP: &[&str] =
        &["add", "sub", "mul", "div", "relu", "exp", "tanh", "transpose", "cast", "max", "argmax"];
    is_reduced(case)?;
    match (case.dtype, case.op.as_str()) {
        (DType::Bf16, _) => return no("it has f32 and f16 only"),
        (DType::F16, op) if !ONE_STEP.contains(&op) => {
            return no("it would round to f16 after every step");
        }
        (_, "coo_to_csr") => return one_entry_a_place(case),
        (_, "attention") if sees_nothing(case)? => {
            return no("its softmax does not define a query that sees no key");
        }
        (_, "cast") if case.word("to")? == "bf16" => return no("it has no bf16"),
        (_, "qk_norm" | "add_rms_norm" | "softmax" | "rope" | "dequantize_int8") => {}
        (_, _) => return Ok(()),
    }
    composed(case)?;
    no_softmax_in_place(case)
}

/// Whether JAX does a case.
pub(super) fn jax_supports(case: &ExplicitCase) -> Result<(), Unsupported> {
    let size = |axis: &str| case.size(axis).unwrap_or(1);
    is_reduced(case)?;
    match case.op.as_str() {
        _ if case.is_set("inplace") => no("its arrays are never written in place"),
        "softmax" | "silu" | "attention" if case.dtype != DType::F32 => {
            no("it rounds to the element type after every step")
        }
        "attention" if case.word("mask")? == "window" => no("its windows have two sides"),
        "attention"
            if case.word("mask")? == "causal" && size("q") != 1 && size("q") != size("t") =>
        {
            no("its causal mask aligns the first query with the first key")
        }
        _ => composed(case),
    }
}

/// Whether there are no keys, or a mask hides all of them from the first queries.
fn sees_nothing(case: &ExplicitCase) -> Result<bool, Unsupported> {
    let is_masked = case.word("mask")? != "none";
    Ok(case.size("t") == Some(0) || is_masked && case.size("q") > case.size("t"))
}

/// Neither library defines the result of a reduction over an empty axis.
fn is_reduced(case: &ExplicitCase) -> Result<(), Unsupported> {
    let is_empty = case.axes.iter().any(|(_, size)| *size == 0);
    match case.op.as_str() {
        "max" if is_empty => no("it has no largest of no elements"),
        "layer_norm_grad" if is_empty => no("it is not called without elements"),
        "layer_norm_grad" if case.dtype == DType::Bf16 => {
            no("it rounds to the element type in between")
        }
        _ => Ok(()),
    }
}

/// Accepts what is composed for both libraries only in its usual form.
fn composed(case: &ExplicitCase) -> Result<(), Unsupported> {
    match case.op.as_str() {
        "rope" if case.word("scaling")? == "llama3" => {
            no("the scaling of llama 3 is not composed inside a call")
        }
        "dequantize_int8" if !case.flag("symmetric")? => {
            no("only scales without zeros are composed")
        }
        "dequantize_int8" if has_rest(case)? => no("only whole groups are composed"),
        _ => Ok(()),
    }
}

/// Whether int8 codes come in groups of which the last of a row is short.
pub(super) fn has_rest(case: &ExplicitCase) -> Result<bool, Unsupported> {
    let group = case.int("group")?.max(1) as u64;
    let has_groups = case.word("scheme")? == "group";
    Ok(has_groups && !case.size("d").unwrap_or(0).is_multiple_of(group))
}

/// The answer of a framework to a case that it has no equal of.
pub(super) fn no(reason: &str) -> Result<(), Unsupported> {
    Err(Unsupported(reason.to_owned()))
}

/// Refuses conversions to rows that would add up entries of one place, which the op keeps.
pub(super) fn one_entry_a_place(case: &ExplicitCase) -> Result<(), Unsupported> {
    match case.op.as_str() {
        "coo_to_csr" if !matches!(case.word("pattern")?, "stencil" | "banded") => {
            no("it adds up entries of one place: --attr pattern=stencil has none")
        }
        "coo_to_csr" if case.size("n") == Some(0) => no("a matrix has columns"),
        _ => Ok(()),
    }
}

pub(super) fn no_softmax_in_place(case: &ExplicitCase) -> Result<(), Unsupported> {
    match case.op == "softmax" && case.flag("inplace")? {
        true => no("it has no softmax in place"),
        false => Ok(()),
    }
}
