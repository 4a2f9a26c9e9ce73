//! Python frameworks as contenders, where they are installed: proven and measured like any other.
#![expect(clippy::disallowed_methods, reason = "a test starts the program and asks what it must")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use serde_json::Value;
use std::process::Command;

/// What the program answers in JSON, and its exit code.
fn proofmark(arguments: &[&str]) -> (Value, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    let output = command.args(arguments).args(["--format", "json"]).output().expect("it starts");
    let talk = String::from_utf8_lossy(&output.stderr);
    let answer = serde_json::from_slice(&output.stdout);
    (answer.unwrap_or_else(|error| panic!("{error}: {talk}")), output.status.code())
}

/// Whether a peer is on this machine; it must be where the environment says so.
fn is_here(name: &str) -> bool {
    let listed = proofmark(&["peers", "list"]).0;
    let rows = listed["peers"].as_array().expect("a list");
    let is_ready = rows.iter().any(|row| row["name"] == name && row["status"] == "ready");
    let required = std::env::var("PROOFMARK_REQUIRE_PEERS").unwrap_or_default();
    let is_required = required.split([',', ' ']).any(|wanted| wanted == name);
    assert!(is_ready || !is_required, "peer {name} is required and not here");
    if !is_ready {
        eprintln!("skipped: peer {name} is not here (proofmark peers add {name})");
    }
    is_ready
}

fn is_proven(name: &str, op: &str, dtype: &str, threads: &str) {
    let peer = format!("peer/{name}");
    let arguments = ["prove", op, "--dtype", dtype, "--with", &peer, "--threads", threads];
    let (proved, code) = proofmark(&arguments);
    assert_eq!(code, Some(0), "{proved}");
    assert_eq!(proved["results"][0]["outcome"], "PROVEN", "{proved}");
}

/// Raced beside one of our kernels: both are right, and the record says what it is.
fn is_measured(name: &str, op: &str, dtype: &str) {
    let store = tempfile::tempdir().expect("a folder");
    let with = format!("native/simd peer/{name}");
    let store = store.path().to_string_lossy();
    let mut arguments = vec!["bench", op, "--quick", "--dtype", dtype, "--threads", "1"];
    arguments.extend(["--sweep", "b=2 s=3 d=17", "--with", &with]);
    arguments.extend(["--settle", "0", "--store", &store]);
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
        is_proven("numpy", "matmul", "f32", "2");
        is_proven("numpy", "matmul", "f32", "1");
        is_proven("numpy", "softmax", "f32", "1");
        is_measured("numpy", "add", "f16");
    }
}

#[test]
fn pytorch_is_proven_and_measured() {
    if is_here("pytorch") {
        is_proven("pytorch", "matmul", "bf16", "2");
        is_proven("pytorch", "rms_norm", "f32", "1");
        is_measured("pytorch", "softmax", "f32");
    }
}

/// It flushes subnormals, and its contract says so.
#[test]
fn jax_is_proven_and_measured() {
    if is_here("jax") {
        is_proven("jax", "rms_norm", "f32", "2");
        is_proven("jax", "add", "f16", "2");
        is_measured("jax", "add", "f32");
    }
}

#[test]
fn a_framework_refuses_a_case_that_it_has_no_equal_of() {
    if is_here("numpy") {
        let arguments = ["prove", "matmul", "--dtype", "bf16", "--with", "peer/numpy"];
        let (proved, _) = proofmark(&arguments);
        assert_eq!(proved["results"][0]["outcome"], "UNSUPPORTED", "{proved}");
    }
}
