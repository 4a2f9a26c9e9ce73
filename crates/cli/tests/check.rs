//! `check` and `init` as a person and a CI meet them: every verdict once, with its exit code.
//!
//! Limits and planted effects are far apart here, so that a busy machine changes no verdict; the
//! same with 3, 7 and 12 per cent is `docs/ci/scenario.sh`.
#![expect(clippy::disallowed_methods, reason = "a test starts the program and git")]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROOFMARK: &str = env!("CARGO_BIN_EXE_proofmark");
const RULES: &str = "[check]\nbaseline = \"rev:main\"\ncases = [\"rms_norm:f32[b=1,s=12,d=256]\"]\n\
                     seconds = 20\n[policy]\nslower = 25\ncritical = 45\nvariance = 1000\n";

/// A folder with a repository, a store and a file of rules.
struct Place(tempfile::TempDir);

impl Place {
    fn new(rules: &str) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        fs::write(place.path("proofmark.toml"), rules).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn rules(&self, more: &str) {
        fs::write(self.path("proofmark.toml"), format!("{RULES}{more}")).unwrap();
    }

    fn expect(&self, arguments: &[&str], code: i32) -> (String, String) {
        let mut command = Command::new(PROOFMARK);
        command.args(arguments).current_dir(self.0.path()).env("PROOFMARK_STORE", "store");
        command.env("PROOFMARK_BUILD_CACHE", "cache");
        let output = command
            .env("PROOFMARK_UNDER_TEST", PROOFMARK)
            .env("PROOFMARK_ISOLATION", "t1")
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, talk) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{out}\n{talk}");
        (out, talk)
    }

    /// A check of a branch, which ends with this code and says this word.
    fn check(&self, branch: &str, code: i32, word: &str) -> String {
        let new = format!("rev:{branch}");
        let always = ["check", "--repo", "repo", "--settle", "0", "--new", &new];
        let (out, talk) = self.expect(&always, code);
        assert!(out.contains(word), "{word} in {out}\n{talk}");
        out
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(arguments);
    let output = command.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A crate whose worker becomes the proofmark under test.
fn write_repository(repo: &Path) {
    let main = "use std::os::unix::process::CommandExt;\n\
                fn main() {\n\
                    let program = std::env::var(\"PROOFMARK_UNDER_TEST\").unwrap();\n\
                    let mut next = std::process::Command::new(program);\n\
                    let error = next.args(std::env::args().skip(1)).exec();\n\
                    panic!(\"{error}\");\n\
                }\n";
    fs::create_dir_all(repo.join("src")).unwrap();
    fs::write(repo.join("src/main.rs"), main).unwrap();
    let lock = "version = 4\n\n[[package]]\nname = \"shim\"\nversion = \"0.1.0\"\n";
    fs::write(repo.join("Cargo.lock"), lock).unwrap();
    write_manifest(repo, "", "native/simd");
    git(repo, &["init", "--quiet", "-b", "main"]);
    git(repo, &["add", "."]);
    git(repo, &["commit", "--quiet", "-m", "main"]);
}

fn write_manifest(repo: &Path, plant: &str, contender: &str) {
    let manifest = format!(
        "[package]\nname = \"shim\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n\
         [package.metadata.proofmark]\nworker = \"shim\"\nargs = [\"__worker\"{plant}]\n\
         contender = \"{contender}\"\n"
    );
    fs::write(repo.join("Cargo.toml"), manifest).unwrap();
}

/// A branch that plants something, or names a wrong kernel.
fn branch(repo: &Path, name: &str, plant: &str, contender: &str) {
    git(repo, &["checkout", "--quiet", "-b", name, "main"]);
    let plant =
        if plant.is_empty() { String::new() } else { format!(", \"--plant\", \"{plant}\"") };
    write_manifest(repo, &plant, contender);
    git(repo, &["commit", "--quiet", "--allow-empty", "-am", name]);
}

#[test]
fn a_regression_fails_until_it_is_explained_and_on_the_critical_path_whatever_is_accepted() {
    let place = Place::new(RULES);
    let repo = place.path("repo");
    write_repository(&repo);
    branch(&repo, "slower", "slower=60", "native/simd");
    let out = place.check("slower", 1, "REGRESSION");
    assert!(out.contains("rms_norm:f32[b=1,s=12,d=256] is slower: +"), "{out}");
    assert!(out.contains("proofmark compare rev:main rev:slower --case"), "{out}");
    assert!(out.contains("PLANTED (slower=60"), "a planted effect is told: {out}");

    // The printed entry does not count until a user adds the reason.
    let (_, entry) = out.split_once("say why:\n\n").expect("an entry to paste");
    place.rules(entry);
    let (_, talk) = place.expect(&["check", "--repo", "repo"], 2);
    assert!(talk.contains("the reason is empty"), "{talk}");
    let explained = entry.replace("reason = \"\"", "reason = \"safer sums\"");
    place.rules(&explained);
    let out = place.check("slower", 0, "slower, explained");
    assert!(out.contains("safer sums"), "{out}");

    place.rules(&format!("{explained}[[tag]]\nname = \"critical\"\nops = [\"rms_norm\"]\n"));
    let out = place.check("slower", 1, "BLOCKED");
    assert!(!out.contains("say why:"), "no entry could help: {out}");

    place.rules("");
    let back = ["check", "--repo", "repo", "--settle", "0", "--base", "rev:slower"];
    let (out, _) = place.expect(&[&back[..], &["--new", "rev:main"]].concat(), 0);
    assert!(out.contains("PASS: 1 faster in 1 case"), "{out}");
}

#[test]
fn a_change_without_effect_passes_and_a_wrong_one_a_heavy_one_and_an_open_one_do_not() {
    let place = Place::new(RULES);
    let repo = place.path("repo");
    write_repository(&repo);
    branch(&repo, "no-op", "", "native/simd");
    branch(&repo, "wrong", "", "mutant/eps_ignored");
    branch(&repo, "heavy", "memory=3000,allocations=1", "native/simd");
    place.rules(
        "[[target]]\nmetric = \"allocations\"\nmax = 0\n\
         [[target]]\nmetric = \"ratio\"\nto = \"native/scalar\"\nmax = 0.9\n\
         [[accept]]\ncase = \"softmx:*\"\nup_to = 9\nreason = \"r\"\ndate = 2026-01-01\n",
    );
    let out = place.check("no-op", 0, "PASS");
    assert_eq!(out.matches(" met ").count(), 2, "{out}");
    assert!(out.contains("the accept entry for `softmx:*` (line 16) matches no case"), "{out}");
    let (out, _) = place.expect(&["replay", "latest"], 0);
    assert!(out.contains("come out the same"), "{out}");

    place.rules("");
    let out = place.check("wrong", 3, "FAIL: 1 wrong kernel");
    assert!(out.contains("proofmark repro"), "{out}");
    let out = place.check("heavy", 1, "of memory at its peak");
    assert!(out.contains("allocates 1.00 times a call, where it did not"), "{out}");

    let hurried = ["check", "--repo", "repo", "--settle", "0", "--seconds", "0.001", "--new"];
    let hurried = [&hurried[..], &["rev:no-op", "--format", "json"]].concat();
    let document: Value = serde_json::from_str(&place.expect(&hurried, 5).0).unwrap();
    assert_eq!((&document["verdict"], &document["exit_code"]), (&"UNDECIDED".into(), &5.into()));
    place.expect(&[&hurried[..], &["--exit-zero-on", "undecided"]].concat(), 0);
}

#[test]
fn what_cannot_be_checked_says_why_and_what_to_do() {
    let place = Place::new("[check]\nbaseline = \"baseline:main\"\nsiute = \"smoke\"\n");
    let (_, talk) = place.expect(&["check"], 2);
    assert!(talk.contains("line 3: there is no key `siute`"), "{talk}");
    assert!(talk.contains("did you mean `suite`?"), "{talk}");
    fs::write(place.path("proofmark.toml"), "[check]\nbaseline = \"baseline:main\"\n").unwrap();
    let (_, talk) = place.expect(&["check"], 2);
    assert!(talk.contains("names no case") && talk.contains("suite = \"smoke\""), "{talk}");
    let case = "cases = [\"add:f32[b=2,s=3,d=17]\"]\n";
    fs::write(place.path("proofmark.toml"), format!("[check]\n{case}")).unwrap();
    let (_, talk) = place.expect(&["check"], 2);
    assert!(talk.contains("--base rev:origin/main"), "{talk}");
    let (_, talk) = place.expect(&["check", "--base", "baseline:main"], 6);
    assert!(talk.contains("no baseline `main`") && talk.contains("hint: "), "{talk}");
    let slip = "contenders = [\"native/simdd\"]\n";
    fs::write(place.path("proofmark.toml"), format!("[check]\n{case}{slip}")).unwrap();
    let (_, talk) = place.expect(&["check", "--base", "native/scalar"], 2);
    assert!(talk.contains("did you mean `native/simd`?"), "{talk}");
    let (_, talk) = place.expect(&["check", "--config", "nowhere.toml"], 2);
    assert!(talk.contains("nowhere.toml") && talk.contains("hint: "), "{talk}");
    fs::remove_file(place.path("proofmark.toml")).unwrap();
    let (_, talk) = place.expect(&["check"], 2);
    assert!(talk.contains("proofmark init"), "{talk}");
}

#[test]
fn init_writes_what_the_documentation_shows_and_overwrites_nothing() {
    let place = Place::new("");
    let documented = |name: &str| {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ci").join(name);
        fs::read_to_string(docs).unwrap()
    };
    let (_, talk) = place.expect(&["init"], 2);
    assert!(talk.contains("is there already") && talk.contains("--force"), "{talk}");
    place.expect(&["init", "--github", "--script", "--force"], 0);
    for (written, name) in [
        ("proofmark.toml", "proofmark.toml"),
        (".github/workflows/proofmark.yml", "proofmark.yml"),
        ("ci/proofmark-check.sh", "proofmark-check.sh"),
    ] {
        assert_eq!(fs::read_to_string(place.path(written)).unwrap(), documented(name), "{name}");
    }
    // If the file of rules already exists, only the rest is written.
    fs::remove_file(place.path("ci/proofmark-check.sh")).unwrap();
    let (out, talk) = place.expect(&["init", "--script"], 0);
    assert!(!talk.contains("proofmark.toml\n") && talk.contains("proofmark-check.sh"), "{talk}");
    assert!(out.is_empty(), "{out}");
}
