//! The sandbox holds on this machine: as the user that runs the tests, and as nobody.
#![expect(clippy::disallowed_methods, reason = "a test starts the program and asks what it must")]

use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

const PROOFMARK: &str = env!("CARGO_BIN_EXE_proofmark");
const NOBODY: u32 = 65534;

/// Asserts that every way out is refused and reported.
#[track_caller]
fn holds(program: &Path, user: Option<u32>) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(program);
    command.args(["selftest", "sandbox", "--skip-cost", "-q", "--format", "json"]);
    command.current_dir("/").env("PROOFMARK_PEERS", folder.path().join("shelf"));
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    let output = command.output().expect("the program starts");
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    let answer: Value = serde_json::from_slice(&output.stdout).expect(&talk);
    let rows = answer["rows"].as_array().unwrap();
    assert!(rows.len() >= 30, "{} attempts", rows.len());
    for row in rows {
        let reports = row["reports"].as_array().unwrap();
        assert_eq!(row["is_open"], false, "{row:#}");
        // Nothing but the attempt is reported: a worker itself asks for nothing more.
        assert_eq!(reports.len(), 1, "{row:#}");
        assert_eq!(reports[0]["call"], row["reported_as"], "{row:#}");
    }
    let open = answer["open_without"].as_u64().unwrap();
    assert!(open >= 20, "most of them succeed without the sandbox: {open}");
    assert_eq!(output.status.code(), Some(0), "{talk}");
}

#[test]
fn every_way_out_is_refused_and_reported() {
    holds(Path::new(PROOFMARK), None);
}

#[test]
fn the_same_holds_for_a_user_without_rights() {
    if !rustix::process::geteuid().is_root() {
        // The test above has shown it.
        return;
    }
    // The user `nobody` must be able to read the program.
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let program = folder.path().join("proofmark");
    std::fs::copy(PROOFMARK, &program).unwrap();
    holds(&program, Some(NOBODY));
}
