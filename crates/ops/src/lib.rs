//! The op folders: definition, oracle, kernels. A new op is one folder and two lines here.

pub mod add_rms_norm;
pub mod attention;
pub mod blocks;
pub mod cast;
pub mod dot;
pub mod elementwise;
mod flawed;
pub mod layer_norm;
pub mod library;
pub mod log_softmax;
pub mod matmul;
pub mod matmul_fp8_block;
pub mod matmul_int8;
pub mod matmul_q8;
pub mod qk_norm;
pub mod quantize;
pub mod rms_norm;
pub mod rope;
pub mod softmax;
pub mod transpose;

use proofmark_contract::Entry;

/// Every op. Help, docs, tests and sweeps are derived from this list.
#[rustfmt::skip] // One line an op.
pub static OPS: &[&Entry] = &[
    &elementwise::ADD,
    &add_rms_norm::ENTRY,
    &attention::ENTRY,
    &elementwise::AXPY,
    &cast::ENTRY,
    &quantize::DEQUANTIZE_FP8,
    &quantize::DEQUANTIZE_INT8,
    &elementwise::DIV,
    &dot::ENTRY,
    &elementwise::EXP,
    &elementwise::GEGLU,
    &elementwise::GELU,
    &elementwise::GELU_QUICK,
    &elementwise::GELU_TANH,
    &layer_norm::ENTRY,
    &log_softmax::ENTRY,
    &matmul::ENTRY,
    &matmul_fp8_block::ENTRY,
    &matmul_int8::ENTRY,
    &matmul_q8::ENTRY,
    &elementwise::MUL,
    &qk_norm::ENTRY,
    &quantize::QUANTIZE_FP8,
    &quantize::QUANTIZE_INT8,
    &elementwise::RELU,
    &rms_norm::ENTRY,
    &rope::ENTRY,
    &elementwise::SIGMOID,
    &elementwise::SILU,
    &softmax::ENTRY,
    &elementwise::SUB,
    &elementwise::SWIGLU,
    &elementwise::TANH,
    &transpose::ENTRY,
];

/// The op of that name.
pub fn find(op: &str) -> Option<&'static Entry> {
    proofmark_contract::find(OPS, op)
}
