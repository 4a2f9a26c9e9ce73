//! Rust crates and ggml for real, where they are installed.
//!
//! An absent peer is named and passed over, unless `PROOFMARK_REQUIRE_PEERS` lists it.
#![expect(clippy::disallowed_methods, reason = "a test starts the program and asks where it runs")]

use serde_json::Value;
use std::process::Command;

const PROOFMARK: &str = env!("CARGO_BIN_EXE_proofmark");

fn json(arguments: &[&str]) -> Value {
    let output = Command::new(PROOFMARK).args(arguments).args(["--format", "json"]).output();
    let output = output.expect("the program starts").stdout;
    serde_json::from_slice(&output).unwrap_or_else(|_| panic!("{arguments:?}"))
}

#[expect(clippy::print_stderr, reason = "what is not tested is said")]
fn is_here(peer: &str) -> bool {
    let list = json(&["peers"]);
    let is_it = |row: &&Value| row["name"] == peer;
    let row = list["peers"].as_array().unwrap().iter().find(is_it).expect("it is listed").clone();
    let required = std::env::var("PROOFMARK_REQUIRE_PEERS").unwrap_or_default();
    let is_required = required.split([',', ' ']).any(|name| name == peer);
    let is_ready = row["status"] == "ready";
    assert!(is_ready || !is_required, "{peer} is required: {}", row["hint"]);
    if !is_ready {
        eprintln!("not tested: {peer} is absent ({})", row["hint"]);
    }
    is_ready
}

/// Whether each element type is proven with one thread and with two.
fn expect(peer: &str, op: &str, dtypes: &[(&str, &str)]) {
    if !is_here(peer) {
        return;
    }
    let contender = format!("peer/{peer}");
    for threads in ["1", "2"] {
        for (dtype, outcome) in dtypes {
            let chosen = ["prove", op, "--dtype", dtype, "--with", &contender];
            let results = json(&[&chosen[..], &["--threads", threads]].concat());
            let result = &results["results"][0];
            assert_eq!(result["outcome"], *outcome, "{peer} {op} {dtype}: {result:#}");
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

#[test]
fn candle_may_lose_small_results_of_silu() {
    // From -88 down its exponential overflows: -0 where numbers are left. Its contract says so.
    expect("candle", "silu", &[("f32", "PROVEN"), ("bf16", "UNSUPPORTED")]);
}
