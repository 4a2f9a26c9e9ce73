//! Rust crates and ggml as contenders.

use crate::{is_here, proves};

/// Whether each element type is proven with one thread and with two.
fn expect(peer: &str, op: &str, dtypes: &[(&str, &str)]) {
    if !is_here(peer) {
        return;
    }
    for threads in ["1", "2"] {
        for (dtype, outcome) in dtypes {
            proves(peer, op, dtype, threads, outcome);
        }
    }
}

#[test]
fn rust_crates_multiply_f32_and_say_that_they_have_no_bf16() {
    for peer in ["gemm", "gemm_avx512", "faer", "matrixmultiply"] {
        expect(peer, "matmul", &[("f32", "PROVEN"), ("bf16", "UNSUPPORTED")]);
    }
}

#[test]
fn rustfft_transforms_lines_of_any_length_and_keeps_to_one_thread() {
    expect("rustfft", "fft", &[("f32", "PROVEN")]);
}

#[test]
fn candle_returns_new_tensors_that_are_right() {
    expect("candle", "matmul", &[("f32", "PROVEN"), ("bf16", "PROVEN")]);
    expect("candle", "softmax", &[("f32", "PROVEN"), ("bf16", "UNSUPPORTED")]);
    expect("candle", "rms_norm", &[("f32", "PROVEN"), ("f16", "UNSUPPORTED")]);
    expect("candle", "add", &[("f32", "PROVEN"), ("f16", "PROVEN")]);
}

#[test]
fn ggml_does_what_llama_needs_of_it() {
    expect("ggml", "matmul", &[("f32", "PROVEN"), ("bf16", "PROVEN")]);
    expect("ggml", "rms_norm", &[("f32", "PROVEN"), ("bf16", "UNSUPPORTED")]);
    expect("ggml", "softmax", &[("f32", "PROVEN"), ("bf16", "UNSUPPORTED")]);
    expect("ggml", "silu", &[("f16", "PROVEN"), ("bf16", "UNSUPPORTED")]);
    expect("ggml", "add", &[("f32", "PROVEN"), ("bf16", "PROVEN"), ("f16", "PROVEN")]);
}

/// Its gelus that use f16 tables are entered as f16; the others lose what their formulas lose.
#[test]
fn ggml_is_held_to_its_own_formulas() {
    expect("ggml", "gelu", &[("f32", "PROVEN"), ("f16", "PROVEN")]);
    expect("ggml", "gelu_tanh", &[("f32", "UNSUPPORTED"), ("f16", "PROVEN")]);
    expect("ggml", "swiglu", &[("f32", "PROVEN"), ("f16", "PROVEN")]);
    expect("ggml", "relu", &[("f32", "PROVEN"), ("bf16", "PROVEN")]);
    expect("ggml", "dot", &[("bf16", "PROVEN")]);
    expect("ggml", "attention", &[("f32", "PROVEN")]);
}

#[test]
fn candle_may_lose_small_results_of_silu() {
    // From -88 down its exponential overflows and the result is -0, although the exact result is
    // not zero. Its contract says so.
    expect("candle", "silu", &[("f32", "PROVEN"), ("bf16", "UNSUPPORTED")]);
}
