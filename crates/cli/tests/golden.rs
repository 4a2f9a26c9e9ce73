//! The commands that read stored runs, on runs of an earlier version.
#![expect(clippy::disallowed_methods, reason = "a test starts the program")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The store of an earlier version; see `crates/store/tests/golden.rs`.
fn golden() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "store", "tests", "golden"].iter().collect()
}

/// A copy of the golden store, so that no command can write beside the files in the tree.
fn copied() -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
            let target = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                copy(&entry.path(), &target);
            } else {
                fs::copy(entry.path(), target).unwrap();
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    copy(&golden(), folder.path());
    folder
}

fn runs() -> Vec<String> {
    let entries = fs::read_dir(golden().join("runs")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// What a command writes about a store; it must succeed.
fn proofmark(store: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    let output = command.args(arguments).env("PROOFMARK_STORE", store).output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {talk}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_number_is_computed_again_from_the_slices() {
    let store = copied();
    for run in runs() {
        let told = proofmark(store.path(), &["replay", &run]);
        assert!(told.contains("come out the same from their slices"), "{run}: {told}");
    }
}

#[test]
fn every_run_is_reported_and_exported() {
    let store = copied();
    for run in runs() {
        let report = proofmark(store.path(), &["report", &run]);
        let is_comparison = report.starts_with("Compare ");
        assert!(is_comparison || report.contains("What is proven"), "{run}: {report}");
        let proven = proofmark(store.path(), &["report", &run, "--only", "coverage"]);
        assert!(proven.contains("What is proven"), "{run}: {proven}");
        let csv = proofmark(store.path(), &["export", &run, "--to", "csv", "--out", "-"]);
        assert!(csv.lines().count() > 1, "{run}: {csv}");
    }
}
