//! Proofs as a user makes them: kept when the command is killed, the same whatever the seed.
#![expect(clippy::disallowed_methods, reason = "a test starts the program")]

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Ops whose proofs are short, and enough of them that a kill comes between.
const OPS: [&str; 6] = ["add", "silu", "softmax", "rms_norm", "gelu", "layer_norm"];

fn prove(store: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.arg("prove").args(OPS).args(["--dtype", "f32", "--with", "native/simd native/scalar"]);
    command.args(["--threads", "1", "--format", "json", "--store"]).arg(store).args(more);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a finished command judged, by op and kernel, and how many it did not judge again.
fn judged(mut command: Command) -> (BTreeSet<(String, String)>, u64) {
    let output = command.output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{talk}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let word = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    let rows = document["results"].as_array().unwrap().iter();
    let rows = rows.map(|row| (word(row, "op"), word(row, "kernel"))).collect();
    (rows, document["skipped"].as_u64().unwrap_or(0))
}

/// The contenders that `list --coverage` reports as proven in f32, by op and kernel.
fn covered(store: &Path) -> BTreeSet<(String, String)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.args(["list", "--coverage", "--format", "json", "--store"]).arg(store);
    let output = command.output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let is_proven = |state: &Value| state["dtype"] == "f32" && state["state"] == "PROVEN";
    let rows = document["coverage"].as_array().unwrap().iter();
    let proven = rows.filter(|row| row["states"].as_array().unwrap().iter().any(is_proven));
    let name = |row: &Value| {
        let who = row["contender"].as_str().unwrap();
        let kernel = who.strip_prefix("native/").unwrap().split('@').next().unwrap();
        (row["op"].as_str().unwrap().to_owned(), kernel.to_owned())
    };
    proven.map(name).collect()
}

#[test]
fn proofs_of_a_killed_command_are_kept_and_only_the_missing_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let mut child = prove(&store, &[]).spawn().unwrap();
    let kept = || std::fs::read_to_string(store.join("proofs.json")).unwrap_or_default();
    while !kept().contains("PROVEN") {
        assert!(child.try_wait().unwrap().is_none(), "it ended and kept nothing");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "it ended before it was killed");
    let before = covered(&store);
    let all: BTreeSet<(String, String)> = OPS
        .iter()
        .flat_map(|op| ["simd", "scalar"].map(|kernel| ((*op).to_owned(), kernel.to_owned())))
        .collect();
    assert!(!before.is_empty() && before.len() < all.len(), "{before:?}");
    let (rest, skipped) = judged(prove(&store, &["--missing"]));
    assert_eq!(skipped, before.len() as u64);
    assert_eq!(rest, all.difference(&before).cloned().collect());
    assert_eq!(covered(&store), all);
    let (none, skipped) = judged(prove(&store, &["--missing"]));
    assert_eq!((none.len(), skipped), (0, all.len() as u64));
    // Another seed draws other inputs: nothing is proven on them yet.
    let (again, skipped) = judged(prove(&store, &["--missing", "--seed", "3"]));
    assert_eq!((again, skipped), (all, 0));
}

/// A function in C for the built-in op `relu`, in a folder without an `op.toml`.
#[test]
fn a_kernel_of_the_user_is_proven_for_a_built_in_op() {
    let project = tempfile::tempdir().unwrap();
    let kernels = project.path().join("ops/relu/kernels");
    std::fs::create_dir_all(&kernels).unwrap();
    let program = |sign: &str| {
        format!(
            "#include <stddef.h>\nvoid f(const float *x, size_t xs, float *y, size_t ys, size_t rows, \
             size_t d) {{\n for (size_t r = 0; r < rows; r++) for (size_t i = 0; i < d; i++) {{\n \
             float v = x[r * xs + i];\n y[r * ys + i] = v {sign} 0 ? 0 : v; }} }}\n"
        )
    };
    let file = |name: &str| {
        format!(
            "library = \"{name}.so\"\nsymbol = \"f\"\n\
             call = \"(x: *const f32, x_stride: usize, y: *mut f32, y_stride: usize, \
             rows: usize = b * s, d: usize)\"\n\
             build = [\"cc\", \"-O1\", \"-shared\", \"-fPIC\", \"-o\", \"{name}.so\", \"{name}.c\"]\n\
             sources = [\"{name}.c\"]\n"
        )
    };
    for (name, sign) in [("right", "<"), ("wrong", ">")] {
        std::fs::write(kernels.join(format!("{name}.c")), program(sign)).unwrap();
        std::fs::write(kernels.join(format!("{name}.toml")), file(name)).unwrap();
    }
    for (name, code, outcome) in [("right", 0, "PROVEN"), ("wrong", 3, "WRONG")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
        command.args(["prove", "relu", "--dtype", "f32", "--with", &format!("own/{name}")]);
        let output = command.current_dir(project.path()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(outcome) && !told.contains("CRASHED"), "{told}");
    }
}

/// A sum of a million terms of both signs may be near 0, where a thousandth of it is less than its
/// rounding error. With these seeds a correct kernel was MISTRUSTED for that.
#[test]
fn a_long_sum_with_one_result_is_proven_whatever_the_seed() {
    for seed in ["2", "5", "6"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
        command.args(["repro", "dot:f32[b=1,s=1,d=1000000]", "--with", "native/simd"]);
        command.args(["--threads", "1", "--seed", seed]);
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{seed}: {told}");
    }
}
