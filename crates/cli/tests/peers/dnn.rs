//! oneDNN and ONNX Runtime as contenders.

use crate::{is_here, proofmark, proves};

#[test]
fn products_and_sums_of_onednn_are_proven() {
    if !is_here("onednn") {
        return;
    }
    for (op, threads) in [("matmul", "1"), ("matmul", "2"), ("add", "1"), ("add", "2")] {
        proves("onednn", op, "f32", threads, "PROVEN");
    }
}

/// Its relu returns 0 for NaN, and its contract says so.
#[test]
fn who_promises_nothing_for_nan_is_given_none() {
    if is_here("onednn") {
        proves("onednn", "relu", "f32", "1", "PROVEN");
    }
}

/// Scales of whole groups are broadcast; products of no terms are not scaled; its softmax of bf16
/// rounds twice.
#[test]
fn what_onednn_does_not_define_is_not_asked_of_it() {
    if is_here("onednn") {
        proves("onednn", "dequantize_int8", "f32", "1", "PROVEN");
        proves("onednn", "matmul_int8", "i8", "1", "PROVEN");
        proves("onednn", "softmax", "bf16", "1", "UNSUPPORTED");
    }
}

/// It has no attention without keys, and promises less in tails and for subnormals.
#[test]
fn onnx_runtime_is_held_to_its_own_formulas() {
    if is_here("onnxruntime") {
        for op in ["attention", "gelu", "gelu_tanh", "geglu", "tanh"] {
            proves("onnxruntime", op, "f32", "1", "PROVEN");
        }
    }
}

#[test]
fn what_onnx_runtime_has_a_kernel_for_is_proven_and_the_rest_is_refused() {
    if !is_here("onnxruntime") {
        return;
    }
    for op in ["matmul", "softmax", "rms_norm", "add"] {
        proves("onnxruntime", op, "f32", "2", "PROVEN");
    }
    proves("onnxruntime", "matmul", "f32", "1", "PROVEN");
    proves("onnxruntime", "add", "bf16", "2", "UNSUPPORTED");
}

#[test]
fn they_are_raced_side_by_side_and_say_what_they_run_on() {
    let here: Vec<&str> = ["onednn", "onnxruntime"].into_iter().filter(|n| is_here(n)).collect();
    if here.is_empty() {
        return;
    }
    let with: Vec<String> = here.iter().map(|name| format!("peer/{name}")).collect();
    let on = ["--sweep", "b=1 s=2 d=65", "--dtype", "f32", "--threads", "2", "--settle", "0"];
    let who = with.join(" ");
    let chosen = ["bench", "add", "--quick", "-q", "--with", &who];
    let bench = proofmark(&[&chosen[..], &on].concat()).0;
    let records = bench["records"].as_array().unwrap();
    let raced: Vec<&str> = records.iter().filter_map(|row| row["contender"].as_str()).collect();
    assert_eq!(raced, with);
    for record in records {
        assert!(record["time_ms"].as_f64().is_some_and(|time| time > 0.0), "{record}");
        assert!(record["isa"].as_str().is_some_and(|isa| !isa.is_empty()), "{record}");
    }
}
