//! Peers that misbehave, made by a C compiler: each is named and costs only its own cells.

use crate::PROOFMARK;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder with a shelf of fakes, and a store.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    /// With these behaviours, each a peer `fake-<behaviour>`.
    pub(crate) fn with(behaviours: &[&str]) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for behaviour in behaviours {
            let library = place.compile(behaviour);
            let name = format!("fake-{behaviour}");
            let (code, out) = place.run(&["peers", "add", &name, "--from", &library]);
            assert_eq!(code, 0, "{out}");
        }
        place
    }

    pub(crate) fn compile(&self, behaviour: &str) -> String {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let library: PathBuf = self.0.path().join(format!("lib{behaviour}.so"));
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread"]);
        compiler.arg(format!("-D{}", behaviour.to_uppercase()));
        compiler.arg("-I").arg(crates.join("peers/plugins"));
        compiler.arg(crates.join("cli/tests/peers/fake_peer.c")).arg("-o").arg(&library);
        assert!(compiler.status().expect("a C compiler").success());
        library.display().to_string()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.output(arguments);
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The same with what it says instead of what it gives.
    pub(crate) fn fail(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.output(arguments);
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(PROOFMARK);
        command.args(arguments).current_dir(self.0.path());
        command.env("PROOFMARK_PEERS", self.0.path().join("shelf"));
        command.output().expect("the program starts")
    }

    /// The exit code of a bench of one small case, and a record for each contender.
    fn bench(&self, with: &str, threads: &str) -> (i32, Vec<Value>) {
        let case = ["bench", "add", "--dtype", "f32", "--sweep", "b=2 s=3 d=17"];
        let rules =
            ["--quick", "--threads", threads, "--settle", "0", "--format", "json", "--with"];
        let (code, out) = self.run(&[&case[..], &rules[..], &[with]].concat());
        let document: Value = serde_json::from_str(&out).expect(&out);
        (code, document["records"].as_array().unwrap().clone())
    }
}

/// The record of a contender whose name begins so.
fn of<'a>(records: &'a [Value], name: &str) -> &'a Value {
    let is_meant = |record: &&Value| record["contender"].as_str().unwrap().starts_with(name);
    records.iter().find(is_meant).unwrap_or_else(|| panic!("no {name} in {records:#?}"))
}

#[test]
fn a_right_peer_is_proven_and_raced_and_a_wrong_one_is_refused() {
    let place = Place::with(&["right", "slow", "wrong"]);
    let (code, records) = place.bench("native/simd peer/fake-*", "1");
    assert_eq!(code, 3, "one of them is incorrect");
    for name in ["native/simd", "peer/fake-right", "peer/fake-slow"] {
        let record = of(&records, name);
        assert_eq!(record["outcome"], "PROVEN", "{record:#}");
        assert!(record["time_ms"].is_f64(), "{record:#}");
        let is_counted = record["allocations"].is_number();
        assert_eq!(is_counted, name == "native/simd", "a library has its own heap: {record:#}");
    }
    let time = |name| of(&records, name)["time_ms"].as_f64().unwrap();
    assert!(time("peer/fake-slow") > time("peer/fake-right"));
    let wrong = of(&records, "peer/fake-wrong");
    assert_eq!(wrong["outcome"], "WRONG");
    assert!(wrong["time_ms"].is_null(), "no number without a proof");
}

#[test]
fn a_peer_that_works_only_once_on_its_operands_is_refused_before_any_race() {
    let place = Place::with(&["once"]);
    let (code, out) = place.run(&["prove", "add", "--dtype", "f32", "--with", "peer/fake-once"]);
    assert_eq!(code, 3, "{out}");
    assert!(out.contains("the last of 2 calls in a row"), "{out}");
}

#[test]
fn a_peer_that_dies_or_hangs_costs_only_its_own_cells() {
    let place = Place::with(&["right", "dead", "hanging"]);
    let (code, records) = place.bench("native/simd peer/fake-*", "1");
    assert_eq!(code, 7, "contenders crashed and timed out");
    for (name, outcome, reason) in [
        ("peer/fake-dead", "CRASHED", "SIGABRT during call"),
        ("peer/fake-hanging", "TIMED_OUT", "no progress during call"),
    ] {
        let record = of(&records, name);
        assert_eq!(record["outcome"], outcome, "{record:#}");
        assert!(record["reason"].as_str().unwrap().contains(reason), "{record:#}");
    }
    for name in ["native/simd", "peer/fake-right"] {
        assert!(of(&records, name)["time_ms"].is_f64());
    }
}

/// The peer is stopped during the turns of other arms, so it slows down only itself.
#[test]
fn a_peer_whose_thread_spins_between_its_calls_takes_nothing_from_others() {
    let place = Place::with(&["spinning"]);
    let (code, records) = place.bench("native/simd peer/fake-spinning", "1");
    // Whether its thread finds a processor that it was not granted depends on the machine.
    assert!(matches!(code, 0 | 4), "{code}: {records:#?}");
    assert!(of(&records, "native/simd")["time_ms"].is_f64(), "{records:#?}");
}

#[test]
fn a_peer_cannot_spoil_what_others_are_judged_on() {
    let place = Place::with(&["sabotage"]);
    let (_, records) = place.bench("native/simd peer/fake-sabotage", "1");
    let native = of(&records, "native/simd");
    assert_eq!(native["outcome"], "PROVEN", "{native:#}");
    assert!(native["time_ms"].is_f64(), "{native:#}");
}

/// A proof makes one call, or two with a pause before them; a race makes many calls in a row.
#[test]
fn a_peer_that_skips_its_work_in_a_row_of_calls_is_wrong() {
    let place = Place::with(&["standing", "close", "first", "every"]);
    let (code, records) = place.bench("native/simd peer/fake-*", "1");
    assert_eq!(code, 3, "{records:#?}");
    for name in ["peer/fake-standing", "peer/fake-close", "peer/fake-first", "peer/fake-every"] {
        let record = of(&records, name);
        assert_eq!(record["outcome"], "WRONG", "{record:#}");
        assert!(record["time_ms"].is_null(), "no number without a proof: {record:#}");
    }
    assert!(of(&records, "native/simd")["time_ms"].is_f64());
}

/// Thread pools look for more work after a call. They are stopped when the turn is handed on.
#[test]
fn a_peer_whose_thread_spins_for_a_moment_after_each_call_is_raced() {
    let place = Place::with(&["lingering"]);
    let (code, records) = place.bench("native/simd peer/fake-lingering", "2");
    assert_eq!(code, 0, "{records:#?}");
    for name in ["native/simd", "peer/fake-lingering"] {
        assert!(of(&records, name)["time_ms"].is_f64(), "{records:#?}");
    }
}

/// Its results are missing when it returns, or its thread finds operands that are already replaced.
#[test]
fn a_peer_that_works_in_its_thread_after_the_call_has_no_time() {
    let place = Place::with(&["deferred"]);
    let (code, records) = place.bench("native/simd peer/fake-deferred", "2");
    assert!(matches!(code, 3 | 7), "{code}: {records:#?}");
    assert!(of(&records, "native/simd")["time_ms"].is_f64(), "{records:#?}");
    let deferred = of(&records, "peer/fake-deferred");
    let outcome = deferred["outcome"].as_str().unwrap();
    assert!(matches!(outcome, "WRONG" | "CRASHED"), "{deferred:#}");
    assert!(deferred["time_ms"].is_null(), "{deferred:#}");
}

/// The time of a plug-in includes bringing its results home, whatever it does there.
#[test]
fn a_peer_gains_nothing_by_computing_when_it_should_only_copy() {
    let place = Place::with(&["homing", "late", "hoarding"]);
    let (code, records) = place.bench("native/simd peer/fake-*", "1");
    assert_eq!(code, 0, "{records:#?}");
    for name in ["native/simd", "peer/fake-homing", "peer/fake-late", "peer/fake-hoarding"] {
        assert!(of(&records, name)["time_ms"].is_f64(), "{records:#?}");
    }
    let time = |name| of(&records, name)["time_ms"].as_f64().unwrap();
    assert!(time("peer/fake-hoarding") > time("peer/fake-homing"), "2000 additions against one");
}

#[test]
fn a_peer_that_remembers_results_gains_nothing_and_a_stale_one_is_wrong() {
    let place = Place::with(&["memo", "stale"]);
    let (code, records) = place.bench("native/simd peer/fake-*", "1");
    assert_eq!(code, 3, "{records:#?}");
    // It is right on all inputs, but no input comes twice, so memoisation gains nothing.
    let memo = of(&records, "peer/fake-memo");
    assert_eq!(memo["outcome"], "PROVEN", "{memo:#}");
    let time = |name| of(&records, name)["time_ms"].as_f64().unwrap();
    assert!(time("peer/fake-memo") > 10.0 * time("native/simd"), "{records:#?}");
    let stale = of(&records, "peer/fake-stale");
    assert_eq!(stale["outcome"], "WRONG", "{stale:#}");
    assert!(stale["time_ms"].is_null(), "{stale:#}");
}

#[test]
fn a_peer_that_does_only_cases_without_elements_is_not_certified_by_them() {
    let place = Place::with(&["empty"]);
    let case = ["bench", "add", "--dtype", "f32", "--sweep", "b=1 s=1 d=4096", "--threads", "1"];
    let more = ["--quick", "--settle", "0", "--format", "json"];
    let with = ["--with", "native/simd peer/fake-empty"];
    let (code, out) = place.run(&[&case[..], &more, &with].concat());
    assert_eq!(code, 0, "{out}");
    let records = serde_json::from_str::<Value>(&out).expect(&out)["records"].clone();
    let empty = of(records.as_array().unwrap(), "peer/fake-empty");
    assert_eq!(empty["outcome"], "UNSUPPORTED", "{empty:#}");
    assert!(empty["time_ms"].is_null(), "{empty:#}");
}

#[test]
fn a_library_that_does_not_open_is_not_registered() {
    let place = Place::with(&["right"]);
    let (broken, empty) = (place.0.path().join("broken.json"), place.0.path().join("empty.so"));
    std::fs::write(&broken, "{}").unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-x", "c", "/dev/null", "-o"]).arg(&empty);
    assert!(compiler.status().expect("a C compiler").success());
    for (library, name) in [(&broken, "acme"), (&empty, "acme"), (&broken, "fake-right")] {
        let add = ["peers", "add", name, "--from", library.to_str().unwrap()];
        assert_eq!(place.run(&add).0, 6, "{add:?}");
    }
    let (_, listed) = place.run(&["peers", "--format", "json"]);
    assert!(!listed.contains("acme"), "{listed}");
    // What was registered before is there still.
    assert_eq!(place.run(&["prove", "add", "--dtype", "f32", "--with", "peer/fake-right"]).0, 0);
}

#[test]
fn a_library_that_broke_or_went_after_it_was_registered_is_told() {
    let place = Place::with(&["right"]);
    let library = place.0.path().join("libright.so");
    std::fs::write(&library, "no longer a library").unwrap();
    let prove = ["prove", "add", "--dtype", "f32", "--with", "peer/fake-right"];
    let (code, out) = place.run(&prove);
    assert_eq!(code, 6, "{out}");
    assert!(out.contains("BROKEN") && out.contains("libright.so"), "{out}");
    let (code, records) = place.bench("native/simd peer/fake-right", "1");
    assert_eq!(code, 6);
    assert_eq!(of(&records, "peer/fake-right")["outcome"], "BROKEN");
    assert!(of(&records, "native/simd")["time_ms"].is_f64());

    std::fs::remove_file(&library).unwrap();
    let repro = ["repro", "add:f32[b=1,s=1,d=8]", "--with", "peer/fake-right"];
    let compare = ["compare", "peer/fake-right", "native/simd", "--case", "add:f32[b=1,s=1,d=8]"];
    for arguments in [&prove[..], &repro, &compare] {
        let (code, talk) = place.fail(arguments);
        assert_eq!(code, 6, "{arguments:?}: {talk}");
        for words in ["libright.so is gone", "peers add fake-right --from", "peers remove"] {
            assert!(talk.contains(words), "{arguments:?}: {talk}");
        }
    }
    assert_eq!(place.run(&["peers", "remove", "fake-right"]).0, 0);
}

/// Runs `peers add` with a Python that installs nothing; what it was told, and what the command
/// says.
fn installed_by_a_fake_python(more: &[&str]) -> (String, String) {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::with(&[]);
    let (python, told) = (place.0.path().join("python"), place.0.path().join("told"));
    let script = format!("#!/bin/sh\necho \"$@\" > {}\nexit 1\n", told.display());
    std::fs::write(&python, script).unwrap();
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let add = ["peers", "add", "-q", "--python", python.to_str().unwrap()];
    let (code, said) = place.fail(&[&add[..], more].concat());
    assert_eq!(code, 6, "{said}");
    (std::fs::read_to_string(told).unwrap(), said)
}

#[test]
fn packages_are_installed_by_their_lock_unless_it_is_left_out() {
    let (told, said) = installed_by_a_fake_python(&["openblas"]);
    assert!(told.contains("--require-hashes --only-binary :all: -r "), "{told}");
    assert!(!told.contains("scipy-openblas64"), "{told}");
    assert!(said.contains("--unlocked"), "{said}");
    let (told, said) = installed_by_a_fake_python(&["openblas", "--unlocked"]);
    assert!(told.contains("scipy-openblas64") && !told.contains("--require-hashes"), "{told}");
    assert!(!said.contains("lock"), "{said}");
    let (told, _) = installed_by_a_fake_python(&["openblas@0.3.28.0.1"]);
    assert!(told.contains("scipy-openblas64==0.3.28.0.1"), "{told}");
    assert!(!told.contains("--require-hashes"), "a lock is of another version: {told}");
}

#[test]
fn a_plug_in_that_was_built_anew_is_proven_anew() {
    let place = Place::with(&["right"]);
    let library = place.0.path().join("libright.so");
    let prove = ["prove", "add", "--dtype", "f32", "--with", "peer/fake-right", "--missing"];
    let (code, out) = place.run(&prove);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("PROVEN"), "{out}");
    let (code, again) = place.run(&prove);
    assert_eq!(code, 0, "{again}");
    assert!(!again.contains("PROVEN add"), "nothing has changed: {again}");
    std::fs::rename(place.compile("wrong"), &library).unwrap();
    let (code, wrong) = place.run(&prove);
    assert_eq!(code, 3, "{wrong}");
    assert!(wrong.contains("WRONG"), "{wrong}");
}

#[test]
fn a_plug_in_that_is_replaced_during_a_bench_gets_no_number() {
    let place = Place::with(&["right"]);
    let library = place.0.path().join("libright.so");
    let wrong = place.compile("wrong");
    // The cases are many, so that the bench is not over when the library is replaced.
    let arguments = ["bench", "add", "--dtype", "f32", "--sweep", "b=1:64 s=3 d=17", "--quick"];
    let more = ["--threads", "1", "--settle", "0", "--format", "json", "--with", "peer/fake-right"];
    let mut command = Command::new(PROOFMARK);
    command.args(arguments).args(more).current_dir(place.0.path());
    command.env("PROOFMARK_PEERS", place.0.path().join("shelf"));
    let bench = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let runs = place.0.path().join(".proofmark/runs");
    let is_recorded = || {
        let runs = std::fs::read_dir(&runs).into_iter().flatten().flatten();
        runs.filter_map(|run| std::fs::metadata(run.path().join("journal")).ok())
            .any(|journal| journal.len() > 4096)
    };
    while !is_recorded() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::fs::rename(wrong, &library).unwrap();
    let output = bench.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let records = document["records"].as_array().unwrap();
    assert_eq!(records[0]["outcome"], "PROVEN", "{:#}", records[0]);
    let last = records.last().unwrap();
    assert!(last["time_ms"].is_null(), "{last:#}");
    assert_eq!(last["outcome"], "BROKEN", "{last:#}");
    assert!(last["reason"].as_str().unwrap().contains("libright.so"), "{last:#}");
}

#[test]
fn the_files_of_a_plug_in_are_in_its_receipt_by_name_and_hash() {
    let place = Place::with(&["right"]);
    let (code, records) = place.bench("native/simd peer/fake-right", "1");
    assert_eq!(code, 0, "{records:#?}");
    let runs = place.0.path().join(".proofmark/runs");
    let run = std::fs::read_dir(runs).unwrap().next().unwrap().unwrap().path();
    let records = std::fs::read_to_string(run.join("records.jsonl")).unwrap();
    let records: Vec<Value> =
        records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let receipt = |name: &str| of(&records, name)["receipt"].clone();
    let files = |name: &str| receipt(name)["libraries"].as_array().unwrap().clone();
    let is_it = |file: &Value| file["name"] == "libright.so";
    assert!(!files("native/simd").iter().any(is_it));
    let library = files("peer/fake-right").into_iter().find(is_it).expect("it was opened");
    let printed = Command::new("sha256sum").arg(place.0.path().join("libright.so")).output();
    let printed = String::from_utf8(printed.unwrap().stdout).unwrap();
    assert_eq!(Some(library["sha256"].as_str().unwrap()), printed.split(' ').next());
    let programs = ["native/simd", "peer/fake-right"].map(|name| receipt(name)["program"].clone());
    assert_eq!(programs[0], programs[1], "both run in this program");
    assert_eq!(programs[0]["sha256"].as_str().map(str::len), Some(64));
}

#[test]
fn a_case_that_a_plug_in_refuses_is_unsupported_in_its_own_words() {
    let place = Place::with(&["right"]);
    let (code, out) = place.run(&["prove", "add", "--dtype", "bf16", "--with", "peer/fake-right"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("UNSUPPORTED add peer/fake-right bf16: it only adds f32"), "{out}");
}

#[test]
fn a_library_of_ones_own_runs_in_a_sandbox_and_is_told_what_was_refused() {
    let place = Place::with(&["curious"]);
    let prove = ["prove", "add", "--dtype", "f32", "--with", "peer/fake-curious", "-q"];
    let json = ["--format", "json"];
    let (code, out) = place.run(&[&prove[..], &json[..]].concat());
    let result: Value = serde_json::from_str(&out).expect(&out);
    let (result, confinement) = (&result["results"][0], &result["results"][0]["confinement"]);
    assert_eq!((code, &result["outcome"]), (0, &Value::from("PROVEN")), "{result:#}");
    assert_eq!(confinement["level"], "T2");
    let layers = confinement["layers"].as_array().unwrap();
    for layer in ["landlock", "system_calls", "code", "environment"] {
        assert!(layers.contains(&layer.into()), "{layers:?}");
    }
    let attempts = confinement["attempts"].to_string();
    assert!(attempts.contains("/etc/passwd") && attempts.contains("socket"), "{attempts}");
    let (code, out) = place.run(&[&prove[..], &["--isolation", "t1"], &json[..]].concat());
    let result: Value = serde_json::from_str(&out).expect(&out);
    assert_eq!((code, &result["results"][0]["confinement"]["level"]), (0, &Value::from("T1")));
}

#[test]
fn a_library_that_reaches_for_its_supervisor_is_caught() {
    let place = Place::with(&["reaching"]);
    let (code, records) = place.bench("native/simd peer/fake-reaching", "1");
    assert_eq!(code, 4, "an attack is a breach of integrity");
    let record = of(&records, "peer/fake-reaching");
    assert_eq!(record["outcome"], "CAUGHT", "{record:#}");
    assert!(record["reason"].as_str().unwrap().contains("process_vm_readv"), "{record:#}");
    assert_eq!(of(&records, "native/simd")["isolation"], "T2", "all arms have the same level");
}

#[test]
fn a_library_writes_code_only_where_that_is_declared() {
    let place = Place::with(&[]);
    let library = place.compile("compiling");
    let prove = ["prove", "add", "--dtype", "f32", "--with", "peer/acme", "-q"];
    for (declared, outcome) in [(&["--jit"][..], "PROVEN"), (&[], "CRASHED")] {
        let add = ["peers", "add", "acme", "--from", &library];
        let (code, out) = place.run(&[&add[..], declared].concat());
        assert_eq!(code, 0, "{out}");
        let (_, out) = place.run(&[&prove[..], &["--format", "json"]].concat());
        let result: Value = serde_json::from_str(&out).expect(&out);
        assert_eq!(result["results"][0]["outcome"], outcome, "{result:#}");
    }
}
