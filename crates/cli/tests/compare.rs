//! `compare`, `baseline` and `replay` as a person meets them: revisions, programs, stored runs.
#![expect(clippy::disallowed_methods, reason = "a test starts the program, git and cargo")]

use proofmark_store::Store;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROOFMARK: &str = env!("CARGO_BIN_EXE_proofmark");
const CASE: &str = "add:f32[b=2,s=3,d=17]";
/// One case and little time, because the decision does not matter here.
const QUICK: &[&str] = &["--case", CASE, "--seconds", "1", "--settle", "0"];

/// A folder with a store in it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(PROOFMARK);
        command.args(arguments).arg("--store").arg(self.path("store"));
        command.current_dir(self.0.path()).env("PROOFMARK_BUILD_CACHE", self.path("cache"));
        // A worker that only starts another program has no place in a sandbox.
        command
            .env("PROOFMARK_UNDER_TEST", PROOFMARK)
            .env("PROOFMARK_ISOLATION", "t1")
            .output()
            .expect("the program starts")
    }

    /// Runs, and expects one of the codes.
    fn expect(&self, arguments: &[&str], codes: &[i32]) -> (String, String) {
        let output = self.run(arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, talk) = (text(&output.stdout), text(&output.stderr));
        let code = output.status.code().unwrap();
        assert!(codes.contains(&code), "{arguments:?} ended with {code}\n{out}\n{talk}");
        (out, talk)
    }

    fn json(&self, arguments: &[&str], codes: &[i32]) -> Value {
        let mut all = arguments.to_vec();
        all.extend(["--format", "json"]);
        serde_json::from_str(&self.expect(&all, codes).0).unwrap()
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(arguments);
    let output = command.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A crate whose program becomes the proofmark under test. `word` makes programs differ.
fn write_crate(folder: &Path, word: &str) {
    let main = format!(
        "use std::os::unix::process::CommandExt;\n\
         fn main() {{\n\
             let program = std::env::var(\"PROOFMARK_UNDER_TEST\").expect(\"{word}\");\n\
             let mut next = std::process::Command::new(program);\n\
             let error = next.args(std::env::args().skip(1)).exec();\n\
             panic!(\"{{error}}\");\n\
         }}\n"
    );
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("src/main.rs"), main).unwrap();
}

fn write_repository(folder: &Path) {
    let manifest = "[package]\nname = \"shim\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
                    [workspace]\n\
                    [package.metadata.proofmark]\nworker = \"shim\"\nargs = [\"__worker\"]\n\
                    contender = \"native/simd\"\n";
    let lock = "version = 4\n\n[[package]]\nname = \"shim\"\nversion = \"0.1.0\"\n";
    write_crate(folder, "first");
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("Cargo.lock"), lock).unwrap();
    git(folder, &["init", "--quiet"]);
    git(folder, &["add", "."]);
    git(folder, &["commit", "--quiet", "-m", "first"]);
    write_crate(folder, "second");
    git(folder, &["commit", "--quiet", "-am", "second"]);
}

#[test]
fn two_revisions_are_built_proven_raced_and_kept() {
    let place = Place::new();
    let repo = place.path("repo");
    write_repository(&repo);
    let on = [&["--repo", repo.to_str().unwrap()][..], QUICK].concat();
    let decided = [0, 1, 5];
    let both = [&["compare", "rev:HEAD~1", "rev:HEAD"][..], &on].concat();
    let document = place.json(&both, &decided);
    let screen = &document["cases"][0]["screen"];
    let program = |arm: usize| screen["arms"][arm]["program"].as_str().unwrap().to_owned();
    assert_ne!(program(0), program(1));
    assert_eq!(screen["arms"][0]["arm"], "rev:HEAD~1");
    assert!(screen["arms"][0]["contender"].as_str().unwrap().starts_with("native/simd"));
    let (out, _) = place.expect(&["replay", "latest"], &[0]);
    assert!(out.contains("rulings come out the same"), "{out}");

    // A second time nothing is built; the tree as it is counts as a revision of its own.
    fs::write(repo.join("untracked.txt"), "x").unwrap();
    write_crate(&repo, "third");
    let tree = [&["compare", "rev:HEAD", "rev:WORKTREE"][..], &on].concat();
    let (_, talk) = place.expect(&tree, &decided);
    assert!(talk.contains("building rev:WORKTREE"), "{talk}");
    assert!(!talk.contains("building rev:HEAD"), "{talk}");

    // The saved program of a revision is run again, byte for byte.
    let from = ["--from", "rev:HEAD~1", "--repo", repo.to_str().unwrap()];
    let saved = place.json(&[&["baseline", "save", "old"][..], &from].concat(), &[0]);
    assert_eq!(saved["baselines"][0]["sha256"], program(0));
    let again = [&["compare", "baseline:old", "rev:HEAD"][..], &on].concat();
    assert_eq!(
        place.json(&again, &decided)["cases"][0]["screen"]["arms"][0]["program"],
        program(0)
    );
}

#[test]
fn what_cannot_be_built_says_why_and_what_to_add() {
    let place = Place::new();
    let nowhere = place.path("nowhere");
    fs::create_dir(&nowhere).unwrap();
    let compare = |repo: &Path, rev: &str, code: i32| {
        let arm = format!("rev:{rev}");
        let repo = repo.to_str().unwrap();
        place.expect(&["compare", &arm, "native/simd", "--case", CASE, "--repo", repo], &[code]).1
    };
    let talk = compare(&nowhere, "HEAD", 2);
    assert!(talk.contains("no git repository") && talk.contains("--repo"), "{talk}");

    let repo = place.path("repo");
    write_repository(&repo);
    let talk = compare(&repo, "nonsense", 2);
    assert!(talk.contains("no revision `nonsense`"), "{talk}");

    fs::write(repo.join("src/main.rs"), "fn main() { does not compile }").unwrap();
    let talk = compare(&repo, ".", 7);
    assert!(talk.contains("does not build") && talk.contains("error"), "{talk}");

    let manifest = "[package]\nname = \"shim\"\nversion = \"0.1.0\"\n[workspace]\n";
    fs::write(repo.join("Cargo.toml"), manifest).unwrap();
    let talk = compare(&repo, ".", 2);
    assert!(talk.contains("[package.metadata.proofmark]"), "{talk}");

    // A program that is no worker.
    write_repository_again(&repo, "fn main() {}");
    let talk = compare(&repo, ".", 7);
    assert!(talk.contains("no worker that speaks format"), "{talk}");
}

fn write_repository_again(repo: &Path, main: &str) {
    git(repo, &["checkout", "--quiet", "--force", "HEAD"]);
    git(repo, &["reset", "--quiet", "--hard"]);
    fs::write(repo.join("src/main.rs"), main).unwrap();
}

#[test]
fn a_changed_or_foreign_baseline_is_refused() {
    let place = Place::new();
    let saved = place.json(&["baseline", "save", "main", "--contender", "native/simd"], &[0]);
    let sha256 = saved["baselines"][0]["sha256"].as_str().unwrap();
    let (out, _) = place.expect(&["baseline", "list"], &[0]);
    assert!(out.contains("main") && out.contains(&sha256[..12]), "{out}");
    let compare = [&["compare", "baseline:main", "native/scalar"][..], QUICK].concat();
    place.expect(&compare, &[0, 1, 5]);

    let card = place.path("store/baselines/main.json");
    let text = fs::read_to_string(&card).unwrap();
    let mut foreign: Value = serde_json::from_str(&text).unwrap();
    foreign["format"] = 99.into();
    fs::write(&card, foreign.to_string()).unwrap();
    let (_, talk) = place.expect(&compare, &[6]);
    assert!(talk.contains("speaks format 99") && talk.contains("save"), "{talk}");
    fs::write(&card, text).unwrap();

    let program = place.path("store/programs").join(sha256);
    let mut bytes = fs::read(&program).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::remove_file(&program).unwrap();
    fs::write(&program, bytes).unwrap();
    for arguments in [&compare[..], &["baseline", "show", "main"]] {
        let (_, talk) = place.expect(arguments, &[4]);
        assert!(talk.contains("has changed since it was kept"), "{talk}");
    }
    place.expect(&["baseline", "remove", "main"], &[0]);
    let (_, talk) = place.expect(&compare, &[6]);
    assert!(talk.contains("no baseline `main`"), "{talk}");
}

#[test]
fn an_arm_that_cannot_be_read_says_what_can() {
    let place = Place::new();
    for (arm, word) in [
        ("basline:x", "baseline:"),
        ("simd", "rev:HEAD~1"),
        ("rev:", "run:ID"),
        ("native/simdd", "did you mean `native/simd`?"),
    ] {
        let (_, talk) = place.expect(&["compare", arm, "native/simd", "--case", CASE], &[2]);
        assert!(talk.contains(word), "{arm}: {talk}");
    }
    let (_, talk) = place.expect(&["compare", "native/simd", "native/scalar"], &[2]);
    assert!(talk.contains("--case"), "{talk}");
    let (_, talk) = place.expect(&["compare", "run:latest", "run:latest"], &[2, 6]);
    assert!(talk.contains("hint: "), "{talk}");
}

#[test]
fn a_family_has_a_line_for_each_case_and_a_wrong_kernel_outranks_the_rest() {
    let place = Place::new();
    let family = ["--sweep", "b=1 s=2 d=17,33", "--dtype", "f32", "--seconds", "0.2"];
    let arms = ["compare", "native/scalar", "native/simd", "add"];
    let document = place.json(&[&arms[..], &family].concat(), &[0, 1, 5]);
    assert_eq!(document["cases"].as_array().unwrap().len(), 2);
    let run = Store::open(&place.path("store")).unwrap().load("latest").unwrap();
    assert_eq!(run.plan.items.len(), 4);
    assert!(run.sealed && run.items.iter().filter(|item| item.decided.is_some()).count() >= 2);
    place.expect(&["bench", "--resume", "latest"], &[2]);
    let says_the_same = |document: &Value| {
        let reported = place.json(&["report", "latest"], &[0]);
        for field in ["base", "other", "alpha", "run", "cases", "counts"] {
            assert_eq!(reported[field], document[field], "{field}");
        }
    };
    says_the_same(&document);
    let (parts, _) = place.expect(&["report", "latest", "--only", "ranking"], &[0]);
    assert!(!parts.contains("Compare native/simd"), "{parts}");
    let twice = ["compare", "native/scalar", "native/simd", "--seconds", "0.2", "--case", CASE];
    says_the_same(&place.json(&[&twice[..], &["--case", CASE]].concat(), &[0, 1, 5]));

    let wrong = ["compare", "native/scalar", "mutant/exp_by_bits", "--seconds", "0.2"];
    let cases = ["--case", "softmax:f32[b=1,s=4,d=40]", "--case", "softmax:f32[b=1,s=2,d=40]"];
    let (out, _) = place.expect(&[&wrong[..], &cases].concat(), &[3]);
    assert!(out.contains("2 refused"), "{out}");
}

#[test]
fn stored_numbers_are_weak_and_never_fail() {
    let place = Place::new();
    let bench = ["bench", "add", "--quick", "--dtype", "f32", "--threads", "1", "-q"];
    let field = ["--with", "native/scalar native/simd", "--sweep", "b=2 s=3 d=17"];
    place.expect(&[&bench[..], &field].concat(), &[0]);
    let arms = ["compare", "run:latest/native/simd", "run:latest/native/scalar"];
    let document = place.json(&arms, &[0, 5]);
    assert_eq!(document["cases"][0]["standing"], "WEAK");
    assert!(document["run"].is_null());
    let live = ["compare", "run:latest", "native/simd", "--case", CASE];
    let (out, _) = place.expect(&live, &[0, 5]);
    assert!(out.contains("weak") && out.contains("decide nothing"), "{out}");
    let other = "add:f32[b=2,s=3,d=18]";
    let (out, _) = place.expect(&["compare", "run:latest", "native/simd", "--case", other], &[5]);
    assert!(out.contains("has no time of"), "{out}");
}

#[test]
fn a_ruling_whose_slices_were_changed_is_reported() {
    let place = Place::new();
    let arms = [&["compare", "native/scalar", "native/simd"][..], QUICK].concat();
    place.expect(&arms, &[0, 1, 5]);
    place.expect(&["replay", "latest"], &[0]);
    let store = Store::open(&place.path("store")).unwrap();
    let run = store.load("latest").unwrap();
    // The same run with one arm's times changed, in a journal whose sums hold.
    let mut writer = store.create("tampered", &run.plan, &run.machine).unwrap();
    for mut item in run.items {
        item.records.iter_mut().for_each(|record| record.run = "tampered".to_owned());
        let slices = item.race.iter_mut().flat_map(|race| &mut race.slices);
        slices.filter(|slice| slice.arm == 1).for_each(|slice| slice.wall_ns *= 2);
        writer.append_item(&item).unwrap();
    }
    writer.seal().unwrap();
    let (_, talk) = place.expect(&["replay", "tampered"], &[4]);
    assert!(talk.contains("different: the ruling on add:f32"), "{talk}");
}
