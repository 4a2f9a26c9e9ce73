//! Python frameworks as contenders: proven and measured like any other.

use crate::{is_here, proofmark, proves};

/// Raced beside one of our kernels: both are right, and the record says what it is.
fn is_measured(name: &str, op: &str, dtype: &str) {
    let with = format!("native/simd peer/{name}");
    let mut arguments = vec!["bench", op, "--quick", "--dtype", dtype, "--threads", "1"];
    arguments.extend(["--sweep", "b=2 s=3 d=17", "--with", &with]);
    arguments.extend(["--settle", "0"]);
    let answer = proofmark(&arguments).0;
    let records = answer["records"].as_array().expect("records");
    let record = records.iter().find(|record| record["contender"] == format!("peer/{name}"));
    let record = record.unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(record["outcome"], "PROVEN", "{record}");
    assert!(record["time_ms"].as_f64().is_some_and(|time| time > 0.0), "{record}");
    assert_eq!(record["threads"], 1, "{record}");
}

#[test]
fn numpy_is_proven_with_one_thread_and_two_and_measured() {
    if is_here("numpy") {
        proves("numpy", "matmul", "f32", "2", "PROVEN");
        proves("numpy", "matmul", "f32", "1", "PROVEN");
        proves("numpy", "softmax", "f32", "1", "PROVEN");
        proves("numpy", "silu", "f32", "1", "PROVEN");
        is_measured("numpy", "add", "f16");
    }
}

#[test]
fn pytorch_is_proven_and_measured() {
    if is_here("pytorch") {
        proves("pytorch", "matmul", "bf16", "2", "PROVEN");
        proves("pytorch", "rms_norm", "f32", "1", "PROVEN");
        is_measured("pytorch", "softmax", "f32");
    }
}

/// Groups of weights may be short at the end of a row; SciPy promises nothing for infinities.
#[test]
fn numpy_is_proven_on_short_groups_and_where_infinities_follow_no_rule() {
    if is_here("numpy") {
        proves("numpy", "matmul_q8", "f32", "1", "PROVEN");
        proves("numpy", "attention", "f32", "1", "PROVEN");
        proves("numpy", "log_softmax", "f32", "1", "PROVEN");
    }
}

/// Cases in which the last pair of a row reaches into the next row are not given to it.
#[test]
fn pytorch_is_proven_in_16_bits_with_what_it_promises_there() {
    if is_here("pytorch") {
        proves("pytorch", "matmul", "f16", "1", "PROVEN");
        proves("pytorch", "layer_norm", "bf16", "1", "PROVEN");
    }
}

/// It flushes subnormals, and its contract says so.
#[test]
fn jax_is_proven_and_measured() {
    if is_here("jax") {
        proves("jax", "rms_norm", "f32", "2", "PROVEN");
        proves("jax", "add", "f16", "2", "PROVEN");
        is_measured("jax", "add", "f32");
    }
}

/// Angles are f64, queries are scaled before scores, hidden elements do not hide NaN, groups may be
/// short, and the losses by flushing and by cancellation add up.
#[test]
fn jax_is_proven_on_what_its_users_compose() {
    if is_here("jax") {
        for op in ["rope", "attention", "softmax", "matmul_q8", "gelu"] {
            proves("jax", op, "f32", "1", "PROVEN");
        }
    }
}

#[test]
fn a_framework_refuses_a_case_that_it_has_no_equal_of() {
    if is_here("numpy") {
        proves("numpy", "matmul", "bf16", "2", "UNSUPPORTED");
    }
}
