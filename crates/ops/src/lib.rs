//! The op folders: definition, oracle, kernels. A new op is one folder and two lines here.

// Without the judge, what only its half of a folder uses is dead code.
#![cfg_attr(not(feature = "judge"), allow(dead_code, unused_imports))]

pub mod add_rms_norm;
pub mod attention;
pub mod blocks;
pub mod cast;
pub mod conv;
pub mod cross_entropy;
pub mod dot;
pub mod dropout;
pub mod elementwise;
pub mod fft;
#[cfg(feature = "judge")]
mod flawed;
pub mod layer_norm;
pub mod layer_norm_grad;
pub mod library;
pub mod log_softmax;
pub mod matmul;
pub mod matmul_fp8_block;
pub mod matmul_int8;
pub mod matmul_q8;
pub mod mse;
pub mod qk_norm;
pub mod quantize;
pub mod reduce;
pub mod rms_norm;
pub mod rnn;
pub mod rope;
pub mod softmax;
pub mod softmax_grad;
pub mod sparse;
pub mod transpose;
pub mod tuning;

pub use library::{Context, Error, Mat, MatMut};
pub use proofmark_tensor::{F8E4m3, F8E5m2, Overflow, bf16, f16};

use proofmark_contract::Entry;

/// Every op. Help, docs, tests and sweeps are derived from this list.
#[rustfmt::skip] // One line an op.
pub static OPS: &[&Entry] = &[
    &elementwise::ADD,
    &add_rms_norm::ENTRY,
    &reduce::ARGMAX,
    &attention::ENTRY,
    &elementwise::AXPY,
    &cast::ENTRY,
    &conv::CONV1D,
    &conv::CONV2D,
    &sparse::COO_TO_CSR,
    &cross_entropy::ENTRY,
    &sparse::CSR_TO_COO,
    &quantize::DEQUANTIZE_FP8,
    &quantize::DEQUANTIZE_INT8,
    &elementwise::DIV,
    &dot::ENTRY,
    &dropout::ENTRY,
    &elementwise::EXP,
    &fft::ENTRY,
    &elementwise::GEGLU,
    &elementwise::GELU,
    &elementwise::GELU_QUICK,
    &elementwise::GELU_TANH,
    &rnn::GRU,
    &layer_norm::ENTRY,
    &layer_norm_grad::ENTRY,
    &log_softmax::ENTRY,
    &rnn::LSTM,
    &matmul::ENTRY,
    &matmul_fp8_block::ENTRY,
    &matmul_int8::ENTRY,
    &matmul_q8::ENTRY,
    &reduce::MAX,
    &reduce::MEAN,
    &mse::ENTRY,
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
    &softmax_grad::ENTRY,
    &sparse::SPMM,
    &sparse::SPMV,
    &elementwise::SUB,
    &reduce::SUM,
    &elementwise::SWIGLU,
    &elementwise::TANH,
    &transpose::ENTRY,
    &reduce::VARIANCE,
];

/// The op of that name.
pub fn find(op: &str) -> Option<&'static Entry> {
    proofmark_contract::find(OPS, op)
}
