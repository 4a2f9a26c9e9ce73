//! oneDNN and ONNX Runtime as contenders, where they are on this machine.
#![expect(clippy::disallowed_methods, reason = "a test starts the program")]

use serde_json::Value;
use std::process::Command;

const PROOFMARK: &str = env!("CARGO_BIN_EXE_proofmark");

fn json(arguments: &[&str]) -> Value {
    let mut command = Command::new(PROOFMARK);
    let output = command.args(arguments).args(["--format", "json"]).output().expect("it starts");
    let talk = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {talk}"))
}

/// Whether a peer can be tried. Where it must be there, its absence is a failure.
#[expect(clippy::print_stderr, reason = "a test that does nothing says so")]
fn is_here(peer: &str) -> bool {
    let peers = json(&["peers"]);
    let rows = peers["peers"].as_array().expect("a list of peers");
    let is_ready = rows.iter().any(|row| row["name"] == peer && row["status"] == "ready");
    let required = std::env::var("PROOFMARK_REQUIRE_PEERS").unwrap_or_default();
    let is_required = required.split([' ', ',']).any(|name| name == peer);
    assert!(is_ready || !is_required, "{peer} is required and absent");
    if !is_ready {
        eprintln!("not tried: {peer} is absent (proofmark peers add {peer})");
    }
    is_ready
}

/// The outcomes of a peer's proofs of an op, by element type.
fn prove(peer: &str, op: &str, dtype: &str, threads: &str) -> String {
    let with = format!("peer/{peer}");
    let proofs =
        json(&["prove", op, "--dtype", dtype, "--with", &with, "--threads", threads, "-q"]);
    proofs["results"][0]["outcome"].as_str().expect("an outcome").to_owned()
}

#[test]
fn products_and_sums_of_onednn_are_proven() {
    if !is_here("onednn") {
        return;
    }
    for (op, threads) in [("matmul", "1"), ("matmul", "2"), ("add", "1"), ("add", "2")] {
        assert_eq!(prove("onednn", op, "f32", threads), "PROVEN", "{op}, {threads} threads");
    }
}

#[test]
fn what_onnx_runtime_has_a_kernel_for_is_proven_and_the_rest_is_refused() {
    if !is_here("onnxruntime") {
        return;
    }
    for op in ["matmul", "softmax", "rms_norm", "add"] {
        assert_eq!(prove("onnxruntime", op, "f32", "2"), "PROVEN", "{op}");
    }
    assert_eq!(prove("onnxruntime", "matmul", "f32", "1"), "PROVEN");
    assert_eq!(prove("onnxruntime", "add", "bf16", "2"), "UNSUPPORTED");
}

#[test]
fn they_are_raced_side_by_side_and_say_what_they_run_on() {
    let here: Vec<&str> = ["onednn", "onnxruntime"].into_iter().filter(|n| is_here(n)).collect();
    if here.is_empty() {
        return;
    }
    let with: Vec<String> = here.iter().map(|name| format!("peer/{name}")).collect();
    let store = tempfile::tempdir().unwrap();
    let on = ["--sweep", "b=1 s=2 d=65", "--dtype", "f32", "--threads", "2", "--settle", "0"];
    let place = ["--store", store.path().to_str().unwrap(), "--with", &with.join(" ")];
    let bench = json(&[&["bench", "add", "--quick", "-q"][..], &on, &place].concat());
    let records = bench["records"].as_array().unwrap();
    let raced: Vec<&str> = records.iter().filter_map(|row| row["contender"].as_str()).collect();
    assert_eq!(raced, with);
    for record in records {
        assert!(record["time_ms"].as_f64().is_some_and(|time| time > 0.0), "{record}");
        assert!(record["isa"].as_str().is_some_and(|isa| !isa.is_empty()), "{record}");
    }
}
