//! Versions of a peer: side by side, and the first slower one among many.

use crate::fakes::Place;
use serde_json::Value;

const CASE: &str = "add:f32[b=2,s=3,d=17]";

/// Versions of a library of one's own, each with a behaviour of a fake.
fn place(versions: &[(&str, &str)]) -> Place {
    let place = Place::with(&[]);
    for (version, behaviour) in versions {
        let name = format!("acme@{version}");
        let library = place.compile(behaviour);
        let (code, out) = place.run(&["peers", "add", &name, "--from", &library]);
        assert_eq!(code, 0, "{out}");
    }
    place
}

#[test]
fn two_versions_are_raced_beside_each_other() {
    let place = place(&[("1.0", "right"), ("1.1", "slow")]);
    let (code, out) = place.run(&["peers", "--format", "json"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("\"acme@1.0\"") && out.contains("\"acme@1.1\""), "{out}");
    let compare = ["compare", "peer/acme@1.0", "peer/acme@1.1", "--case", CASE, "--settle", "0"];
    let (code, out) = place.run(&[&compare[..], &["--format", "json"]].concat());
    assert_eq!(code, 1, "{out}");
    let bench = ["bench", "add", "--dtype", "f32", "--sweep", "b=2 s=3 d=17", "--quick"];
    let more = ["--settle", "0", "--format", "json", "--with"];
    let all = [&bench[..], &more, &["peer/acme@* peer/onnxruntime@0.0.1"]].concat();
    let (_, out) = place.run(&all);
    let benched: Value = serde_json::from_str(&out).expect(&out);
    let names: Vec<&str> = benched["records"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|record| record["contender"].as_str())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(["peer/acme@1.0", "peer/acme@1.1"].iter().all(|name| names.contains(name)));
}

#[test]
fn a_version_that_is_not_here_is_absent_with_the_command_that_gets_it() {
    let place = place(&[]);
    let with = ["prove", "matmul", "--dtype", "f32", "--with", "peer/openblas@0.3.28.0.1"];
    let (code, talk) = place.fail(&with);
    assert_eq!(code, 6, "{talk}");
    assert!(talk.contains("proofmark peers add openblas@0.3.28.0.1"), "{talk}");
    let (code, talk) = place.fail(&["peers", "add", "opnblas@1"]);
    assert_eq!(code, 2, "{talk}");
    assert!(talk.contains("did you mean `openblas`?"), "{talk}");
}

#[test]
fn the_first_slower_version_is_found_and_a_wrong_one_is_skipped() {
    let place = place(&[
        ("1.0", "right"),
        ("1.1", "right"),
        ("1.2", "wrong"),
        ("1.3", "right"),
        ("1.4", "slow"),
        ("1.10", "slow"),
    ]);
    let search = ["bisect", "peer/acme", "--good", "1.0", "--case", CASE, "--settle", "0"];
    let search = [&search[..], &["--format", "json"]].concat();
    let output = place.output(&search);
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{talk}");
    assert!(talk.contains("1.2 is skipped: "), "{talk}");
    // One note for all races, and not one for each.
    assert_eq!(talk.matches("note: limits: short probe").count(), 1, "{talk}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["first_bad"], &found["candidates"]), (&"1.4".into(), &5.into()), "{found}");
    assert_eq!(found["suspects"], serde_json::json!([]));
    // What is known is not raced again.
    let (_, out) = place.run(&search);
    let again: Value = serde_json::from_str(&out).unwrap();
    let tried = |found: &Value| found["tried"].as_array().unwrap().len();
    assert_eq!(again["first_bad"], found["first_bad"]);
    assert!(tried(&again) < tried(&found), "{again} {found}");
    let ends = ["--bad", "1.3"];
    let (code, talk) = place.fail(&[&search[..], &ends].concat());
    assert_eq!(code, 2, "{talk}");
    assert!(talk.contains("not slower"), "{talk}");
    let (code, talk) = place.fail(&[&search[..], &["--bad", "1.5"]].concat());
    assert_eq!(code, 2, "{talk}");
    assert!(talk.contains("versions: 1.0, 1.1, 1.2, 1.3, 1.4, 1.10"), "{talk}");
    let (code, talk) = place.fail(&[&search[..], &["--bad", "1.2"]].concat());
    assert_eq!(code, 2, "{talk}");
    assert!(talk.contains("could not be raced"), "{talk}");
}
