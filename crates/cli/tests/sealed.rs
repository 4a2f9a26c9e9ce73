//! No command reads a sealed run that was changed. A sealed run that was only renamed is reported
//! as such.
#![expect(clippy::disallowed_methods, reason = "a test starts the program")]

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn proofmark(store: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.args(arguments).env("PROOFMARK_STORE", store).output().expect("the program starts")
}

fn talk(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A store with the run of a small bench, which is a shard of nothing else; the run's folder.
fn benched(store: &Path) -> PathBuf {
    let mut arguments = vec!["bench", "add", "--quick", "--dtype", "f32", "--threads", "1", "-q"];
    arguments.extend(["--with", "native/scalar", "--sweep", "b=2 s=3 d=17", "--settle", "0"]);
    arguments.extend(["--shard", "1/1"]);
    let output = proofmark(store, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let mut runs = fs::read_dir(store.join("runs")).unwrap();
    runs.next().unwrap().unwrap().path()
}

/// What reads a stored run.
const READERS: [&[&str]; 8] = [
    &["replay", "latest"],
    &["report", "latest"],
    &["export", "latest", "--to", "csv", "--out", "-"],
    &["merge", "latest"],
    &["trace", "latest", "--out", "-"],
    &["scale", "--run", "latest"],
    &["compare", "run:latest/native/scalar", "native/scalar", "--case", "add:f32[b=2,s=3,d=17]"],
    &["bench", "--resume", "latest"],
];

fn all_refuse(store: &Path, file: &str) {
    for reader in READERS {
        let output = proofmark(store, reader);
        assert_eq!(output.status.code(), Some(4), "{file}, {reader:?}: {}", talk(&output));
        assert!(output.stdout.is_empty(), "{file}, {reader:?}");
        assert!(talk(&output).contains(file), "{file}, {reader:?}: {}", talk(&output));
    }
}

#[test]
fn a_changed_file_of_a_sealed_run_ends_every_command_that_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let run = benched(folder.path());
    for file in ["slices.bin", "records.jsonl", "machine.json", "plan.json", "journal"] {
        let path = run.join(file);
        let original = fs::read(&path).unwrap();
        fs::write(&path, &original[..original.len() - 2]).unwrap();
        all_refuse(folder.path(), file);
        fs::write(&path, original).unwrap();
    }
    let path = run.join("seal.json");
    let original = fs::read_to_string(&path).unwrap();
    let (before, after) = original.split_once("\"journal\": \"").unwrap();
    let other = if after.starts_with('0') { "1" } else { "0" };
    fs::write(&path, format!("{before}\"journal\": \"{other}{}", &after[1..])).unwrap();
    all_refuse(folder.path(), "journal");
    fs::write(&path, original).unwrap();
    let output = proofmark(folder.path(), &["replay", "latest"]);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
}

#[test]
fn a_verification_names_what_is_behind_the_numbers_or_what_was_changed() {
    let folder = tempfile::tempdir().unwrap();
    let run = benched(folder.path());
    let verify = ["replay", "latest", "--verify", "--format", "json"];
    let output = proofmark(folder.path(), &verify);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let data: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = &data["numbers"][0];
    assert_eq!((&data["holds"], &number["isolation"]), (&json!(true), &json!("T1")));
    assert_eq!(number["program"]["name"], "proofmark");
    assert_eq!(number["program"]["sha256"].as_str().unwrap().len(), 64);
    let libraries = number["libraries"].as_array().unwrap();
    assert!(libraries.iter().any(|file| file["name"] == "libc.so.6"), "{libraries:?}");
    assert!(!number["trial_seeds"].as_array().unwrap().is_empty());

    for file in ["slices.bin", "records.jsonl", "machine.json", "plan.json", "journal", "seal.json"]
    {
        let path = run.join(file);
        let original = fs::read(&path).unwrap();
        let mut changed = original.clone();
        *changed.last_mut().unwrap() ^= 1;
        fs::write(&path, changed).unwrap();
        let output = proofmark(folder.path(), &["replay", "latest", "--verify"]);
        assert_eq!(output.status.code(), Some(4), "{file}: {}", talk(&output));
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(shown.contains(file), "{file}: {shown}");
        fs::write(&path, original).unwrap();
    }
}

#[test]
fn a_run_under_another_name_is_a_slip_and_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let run = benched(folder.path());
    let id = run.file_name().unwrap().to_str().unwrap().to_owned();
    let copy = folder.path().join("copy-of-it");
    fs::rename(&run, &copy).unwrap();
    let output = proofmark(folder.path(), &["report", copy.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", talk(&output));
    assert!(talk(&output).contains(&id), "{}", talk(&output));
    assert!(talk(&output).contains("nothing is damaged"), "{}", talk(&output));
}
