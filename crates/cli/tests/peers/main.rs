//! Peers for real, where they are on this machine, and fakes that misbehave.
//!
//! An absent peer is named and passed over, unless `PROOFMARK_REQUIRE_PEERS` lists it.
#![expect(clippy::disallowed_methods, reason = "a test starts the program and asks what it must")]

mod dnn;
mod fakes;
mod python;
mod rust_and_ggml;
mod versions;

use serde_json::Value;
use std::process::Command;

const PROOFMARK: &str = env!("CARGO_BIN_EXE_proofmark");

/// What the program answers in JSON, and its exit code; its store is a folder of the call's own.
fn proofmark(arguments: &[&str]) -> (Value, Option<i32>) {
    let store = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(PROOFMARK);
    command.args(arguments).args(["--format", "json"]).env("PROOFMARK_STORE", store.path());
    let output = command.output().expect("the program starts");
    let talk = String::from_utf8_lossy(&output.stderr);
    let answer = serde_json::from_slice(&output.stdout);
    let answer = answer.unwrap_or_else(|error| panic!("{arguments:?}: {error}: {talk}"));
    (answer, output.status.code())
}

/// Whether a peer is on this machine. Where it must be there, its absence is a failure.
#[expect(clippy::print_stderr, reason = "what is not tested is said")]
fn is_here(peer: &str) -> bool {
    let listed = proofmark(&["peers"]).0;
    let rows = listed["peers"].as_array().expect("a list");
    let row = rows.iter().find(|row| row["name"] == peer).expect("it is listed");
    let is_ready = row["status"] == "ready";
    let required = std::env::var("PROOFMARK_REQUIRE_PEERS").unwrap_or_default();
    let is_required = required.split([',', ' ']).any(|name| name == peer);
    assert!(is_ready || !is_required, "{peer} is required: {}", row["hint"]);
    if !is_ready {
        eprintln!("not tested: {peer} is absent ({})", row["hint"]);
    }
    is_ready
}

/// The seed of proofs here. These tests ask whether an adapter is right, and they must give the
/// same answer every time. `selftest gate` asks whether the gate is fair for any seed.
const SEED: &str = "20261115";

/// Asserts the outcome of a peer's proof.
#[track_caller]
fn proves(peer: &str, op: &str, dtype: &str, threads: &str, outcome: &str) {
    let with = format!("peer/{peer}");
    let mut chosen = vec!["prove", op, "--dtype", dtype, "--with", &with, "--threads", threads];
    chosen.extend(["--seed", SEED, "-q"]);
    let (answer, code) = proofmark(&chosen);
    let result = &answer["results"][0];
    assert_eq!(result["outcome"], outcome, "{peer} {op} {dtype}, {threads} threads: {result:#}");
    assert_eq!(code, Some(0), "{answer:#}");
}
