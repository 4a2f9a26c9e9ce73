//! Peers that misbehave, made by a C compiler: each is named and costs only its own cells.

use crate::PROOFMARK;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with a shelf of fakes, and a store.
struct Place(tempfile::TempDir);

impl Place {
    /// With these behaviours, each a peer `fake-<behaviour>`.
    fn with(behaviours: &[&str]) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for behaviour in behaviours {
            let library = place.compile(behaviour);
            let name = format!("fake-{behaviour}");
            let (code, out) = place.run(&["peers", "add", &name, "--from", &library]);
            assert_eq!(code, 0, "{out}");
        }
        place
    }

    fn compile(&self, behaviour: &str) -> String {
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

    fn run(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.output(arguments);
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The same with what it says instead of what it gives.
    fn fail(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.output(arguments);
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn output(&self, arguments: &[&str]) -> Output {
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

#[test]
fn a_peer_whose_thread_spins_between_its_calls_has_no_time() {
    let place = Place::with(&["spinning"]);
    let (code, records) = place.bench("native/simd peer/fake-spinning", "1");
    // Which of the two sees it first depends on what else the machine does.
    assert!(matches!(code, 4 | 7), "more threads than it says, or awake in others' turns: {code}");
    let spinning = of(&records, "peer/fake-spinning");
    assert!(spinning["time_ms"].is_null(), "{spinning:#}");
    assert!(spinning["reason"].as_str().unwrap().contains("processor time"), "{spinning:#}");
    assert!(of(&records, "native/simd")["time_ms"].is_f64());
}

/// Pools of threads look for more work after a call; the turn is handed on when they sleep.
#[test]
fn a_peer_whose_thread_spins_for_a_moment_after_each_call_is_raced() {
    let place = Place::with(&["lingering"]);
    let (code, records) = place.bench("native/simd peer/fake-lingering", "2");
    assert_eq!(code, 0, "{records:#?}");
    for name in ["native/simd", "peer/fake-lingering"] {
        assert!(of(&records, name)["time_ms"].is_f64(), "{records:#?}");
    }
}

#[test]
fn a_peer_that_works_in_its_thread_after_the_call_has_no_time() {
    let place = Place::with(&["deferred"]);
    let (code, records) = place.bench("native/simd peer/fake-deferred", "2");
    assert_eq!(code, 4, "it cheats: {records:#?}");
    assert!(of(&records, "native/simd")["time_ms"].is_f64(), "{records:#?}");
    let deferred = of(&records, "peer/fake-deferred");
    assert_eq!(deferred["outcome"], "CAUGHT", "{deferred:#}");
    let reason = deferred["reason"].as_str().unwrap();
    assert!(reason.contains("it uses its operands only then"), "{deferred:#}");
    assert!(deferred["time_ms"].is_null(), "{deferred:#}");
}

#[test]
fn a_peer_may_copy_its_results_after_the_clock_but_not_compute_them_then() {
    let place = Place::with(&["homing", "late", "hoarding"]);
    let (code, records) = place.bench("native/simd peer/fake-*", "1");
    assert_eq!(code, 4, "two of them cheat: {records:#?}");
    for name in ["native/simd", "peer/fake-homing"] {
        assert!(of(&records, name)["time_ms"].is_f64(), "{records:#?}");
    }
    for (name, reason) in [
        ("peer/fake-late", "it uses its operands only then"),
        ("peer/fake-hoarding", "it works there, unmeasured"),
    ] {
        let record = of(&records, name);
        assert_eq!(record["outcome"], "CAUGHT", "{record:#}");
        assert!(record["reason"].as_str().unwrap().contains(reason), "{record:#}");
        assert!(record["time_ms"].is_null(), "{record:#}");
    }
    let arms = ["compare", "native/simd", "peer/fake-late", "--case", "add:f32[b=2,s=3,d=17]"];
    let (code, out) = place.run(&[&arms[..], &["--seconds", "1", "--settle", "0"]].concat());
    assert_eq!(code, 4, "{out}");
    let (code, records) = {
        let more = ["--cache", "rotate", "--quick", "--settle", "0", "--format", "json"];
        let case = ["bench", "add", "--dtype", "f32", "--sweep", "b=2 s=3 d=17", "--threads", "1"];
        let with = ["--with", "native/simd peer/fake-late"];
        let (code, out) = place.run(&[&case[..], &more, &with].concat());
        (code, serde_json::from_str::<Value>(&out).expect(&out)["records"].clone())
    };
    assert_eq!(code, 4, "{records:#?}");
}

#[test]
fn a_peer_that_remembers_results_instead_of_computing_them_has_no_time() {
    let place = Place::with(&["memo", "stale"]);
    let (_, records) = place.bench("native/simd peer/fake-*", "1");
    let memo = of(&records, "peer/fake-memo");
    assert_eq!(memo["outcome"], "CAUGHT", "{memo:#}");
    assert!(memo["reason"].as_str().unwrap().contains("it remembers results"), "{memo:#}");
    let stale = of(&records, "peer/fake-stale");
    assert_eq!(stale["outcome"], "WRONG", "{stale:#}");
    assert!(stale["reason"].as_str().unwrap().contains("it had not seen"), "{stale:#}");
    for record in [memo, stale] {
        assert!(record["time_ms"].is_null(), "{record:#}");
    }
    assert!(of(&records, "native/simd")["time_ms"].is_f64());
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

#[test]
fn a_case_that_a_plug_in_refuses_is_unsupported_in_its_own_words() {
    let place = Place::with(&["right"]);
    let (code, out) = place.run(&["prove", "add", "--dtype", "bf16", "--with", "peer/fake-right"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("UNSUPPORTED add peer/fake-right bf16: it only adds f32"), "{out}");
}
