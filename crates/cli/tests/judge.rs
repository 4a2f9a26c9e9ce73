//! The self-test of the judge as a user runs it.
#![expect(clippy::disallowed_methods, reason = "a test starts the program")]

use serde_json::Value;
use std::process::{Command, Output};

fn judge(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.args(["selftest", "judge"]).args(arguments).output().unwrap()
}

fn talk(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn json_has_exactly_the_agreed_names_and_a_specimen_that_fails_ends_nothing() {
    // Writes and reads out of bounds, all of which the gate refuses at once.
    let output = judge(&["softmax", "--only", "oob_", "--format", "json", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(names(&document), ["cheats", "honest", "rows"]);
    assert_eq!(names(&document["cheats"]), ["named", "planted", "runs", "wins"]);
    assert_eq!(names(&document["honest"]), ["accused", "kernels", "runs", "undecided"]);
    let of = |name: &str| document["cheats"][name].as_u64().unwrap();
    assert_eq!((of("planted"), of("runs"), of("wins"), of("named")), (4, 4, 0, 4));
    let outcomes: Vec<&str> = document["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["mark"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["named"; 4]);
}

#[test]
fn an_honest_specimen_is_raced_and_told_in_one_sentence() {
    let output = judge(&["rms_norm", "--only", "cpuid", "--honest-only", "--quiet"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("Cheats won 0 of 0 planted runs"), "{text}{}", talk(&output));
    assert!(text.contains("cpuid_dispatch"), "{text}");
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 5)), "{text}");
}

/// An in-place operand holds the result when a batch ends: undoing the changes of inputs must not
/// touch it.
#[test]
fn a_kernel_that_works_in_place_is_not_accused() {
    let output = judge(&["softmax", "--only", "in_place", "--honest-only", "--quiet"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("honest kernels were accused in 0 of 1 runs"), "{text}");
    assert!(matches!(output.status.code(), Some(0 | 5)), "{text}{}", talk(&output));
}

#[test]
fn a_name_that_no_specimen_has_is_a_slip_and_none_is_in_a_roster() {
    let output = judge(&["softmax", "--only", "extra_coers", "--quiet"]);
    assert_eq!(output.status.code(), Some(2), "{}", talk(&output));
    assert!(talk(&output).contains("did you mean `planted/extra_cores`?"), "{}", talk(&output));
    let program = || Command::new(env!("CARGO_BIN_EXE_proofmark"));
    let case = "softmax:f32[b=1,s=2,d=8]";
    let compared =
        program().args(["compare", "planted/noop", "native/simd", "--case", case]).output();
    assert_eq!(compared.unwrap().status.code(), Some(2));
    let again = program().args(["repro", case, "--with", "planted/noop"]).output().unwrap();
    assert_eq!(again.status.code(), Some(3), "{}", talk(&again));
    let slip = program().args(["repro", case, "--with", "planted/nop"]).output().unwrap();
    assert_eq!(slip.status.code(), Some(2));
    assert!(talk(&slip).contains("planted/noop"), "{}", talk(&slip));
}
