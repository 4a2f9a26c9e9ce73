//! What NumPy and JAX have a call for, or what their users compose of a few.

use super::no_softmax_in_place;
use proofmark_schema::{Case, DType};

/// The ops of both.
pub(super) const OPS: &[&str] = &[
    "add",
    "add_rms_norm",
    "attention",
    "axpy",
    "cast",
    "dequantize_int8",
    "div",
    "dot",
    "exp",
    "geglu",
    "gelu",
    "gelu_quick",
    "gelu_tanh",
    "layer_norm",
    "log_softmax",
    "matmul",
    "matmul_int8",
    "matmul_q8",
    "mul",
    "qk_norm",
    "relu",
    "rms_norm",
    "rope",
    "sigmoid",
    "silu",
    "softmax",
    "sub",
    "swiglu",
    "tanh",
    "transpose",
];

/// Those in which NumPy's sigmoids lose what is nearly zero.
pub(super) const NUMPY_SIGMOID: &[&str] =
    &["silu", "gelu", "gelu_tanh", "gelu_quick", "swiglu", "geglu", "sigmoid"];

/// Whether NumPy does a case.
pub(super) fn numpy_supports(case: &Case) -> Result<(), &'static str> {
    const ONE_STEP: &[&str] =
        &["add", "sub", "mul", "div", "relu", "exp", "tanh", "transpose", "cast"];
    match (case.dtype, case.op.as_str()) {
        (DType::Bf16, _) => return Err("it has f32 and f16 only"),
        (DType::F16, op) if !ONE_STEP.contains(&op) => {
            return Err("it would round to f16 after every step");
        }
        (_, "cast") if case.word("to", "f32") == "bf16" => return Err("it has no bf16"),
        (_, "qk_norm" | "add_rms_norm" | "softmax" | "rope" | "dequantize_int8") => {}
        (_, _) => return Ok(()),
    }
    composed(case)?;
    no_softmax_in_place(case)
}

/// Whether JAX does a case.
pub(super) fn jax_supports(case: &Case) -> Result<(), &'static str> {
    let is_causal = case.word("mask", "none") == "causal";
    let size = |axis: &str| case.size(axis).unwrap_or(1);
    match case.op.as_str() {
        _ if case.flag("inplace", false) => Err("its arrays are never written in place"),
        "softmax" | "silu" | "attention" if case.dtype != DType::F32 => {
            Err("it rounds to the element type after every step")
        }
        "attention" if case.word("mask", "none") == "window" => Err("its windows have two sides"),
        "attention" if is_causal && size("q") != 1 && size("q") != size("t") => {
            Err("its causal mask aligns the first query with the first key")
        }
        _ => composed(case),
    }
}

/// What is composed for both, only in its usual form.
fn composed(case: &Case) -> Result<(), &'static str> {
    match case.op.as_str() {
        "rope" if case.word("scaling", "none") == "llama3" => {
            Err("nobody composes the scaling of llama 3 inside a call")
        }
        "dequantize_int8" if !case.flag("symmetric", true) => {
            Err("only scales without zeros are composed")
        }
        "dequantize_int8" if case.word("scheme", "channel") == "group" && has_rest(case) => {
            Err("only whole groups are composed")
        }
        _ => Ok(()),
    }
}

fn has_rest(case: &Case) -> bool {
    let group = case.real("group", 32.0).max(1.0) as u64;
    !case.size("d").unwrap_or(0).is_multiple_of(group)
}
