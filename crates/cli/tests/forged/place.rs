//! A repository with a base, pull requests of it, and the check as a CI runs it.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const PROOFMARK: &str = env!("CARGO_BIN_EXE_proofmark");
pub(crate) const STORE: &str = "PROOFMARK_STORE";
pub(crate) const CACHE: &str = "PROOFMARK_BUILD_CACHE";
pub(crate) const PEERS: &str = "PROOFMARK_PEERS";
pub(crate) const RULES: &str = "\
[check]
baseline = \"rev:main\"
cases = [\"add:f32[b=1,s=1,d=1024]\"]
seconds = 20

[policy]
slower = 60
critical = 80
memory = 20
variance = 1000

[[target]]
metric = \"allocations\"
max = 0

[[tag]]
name = \"critical\"
ops = [\"softmax\"]

[[accept]]
case = \"softmax:*\"
up_to = 70
reason = \"safer sums\"
date = 2026-01-01
expires = 2026-01-31
";
pub(crate) const WORKFLOW: &str = ".github/workflows/proofmark.yml";
/// A change that fails: its kernel is wrong.
pub(crate) const WRONG: Code = Code { plant: "", contender: "mutant/tail_dropped" };
/// A change that fails: a call begins to allocate.
pub(crate) const ALLOCATES: Code = Code { plant: "allocations=1", contender: "native/simd" };
/// A change that fails: it keeps far more memory.
pub(crate) const HEAVY: Code = Code { plant: "memory=9000", contender: "native/simd" };
/// A change that fails: every call is made three times.
pub(crate) const SLOW: Code = Code { plant: "slower=200", contender: "native/simd" };
/// A change that passes.
pub(crate) const GOOD: Code = Code { plant: "", contender: "native/simd" };

/// What the code of a change does.
#[derive(Clone, Copy)]
pub(crate) struct Code {
    pub(crate) plant: &'static str,
    pub(crate) contender: &'static str,
}

/// A repository with a base, and around it what a CI has.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        let repo = place.repo();
        let main = "use std::os::unix::process::CommandExt;\n\
                    fn main() {\n\
                        let program = std::env::var(\"PROOFMARK_UNDER_TEST\").unwrap();\n\
                        let mut next = std::process::Command::new(program);\n\
                        let error = next.args(std::env::args().skip(1)).exec();\n\
                        panic!(\"{error}\");\n\
                    }\n";
        let lock = "version = 4\n\n[[package]]\nname = \"shim\"\nversion = \"0.1.0\"\n";
        for (name, text) in [
            ("src/main.rs", main),
            ("Cargo.lock", lock),
            ("proofmark.toml", RULES),
            (WORKFLOW, "jobs: { check: { steps: [{ run: proofmark check }] } }\n"),
            ("ci/proofmark-check.sh", "proofmark check --base main\n"),
            (".gitignore", ".proofmark/\nignored/\n"),
        ] {
            place.write(name, text);
        }
        place.code(GOOD);
        git(&repo, &["init", "--quiet", "-b", "main"]);
        git(&repo, &["add", "."]);
        git(&repo, &["commit", "--quiet", "-m", "main"]);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.repo().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Replaces words of a file, which must be there.
    pub(crate) fn edit(&self, name: &str, from: &str, to: &str) {
        let path = self.repo().join(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from} in {text}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }

    pub(crate) fn rules(&self, from: &str, to: &str) {
        self.edit("proofmark.toml", from, to);
    }

    pub(crate) fn append(&self, name: &str, text: &str) {
        let path = self.repo().join(name);
        let old = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, old + text).unwrap();
    }

    /// What the worker of the crate is.
    pub(crate) fn code(&self, code: Code) {
        let Code { plant, contender } = code;
        let plant = match plant {
            "" => String::new(),
            plant => format!(", \"--plant\", \"{plant}\""),
        };
        let manifest = format!(
            "[package]\nname = \"shim\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n\
             [package.metadata.proofmark]\nworker = \"shim\"\nargs = [\"__worker\"{plant}]\n\
             contender = \"{contender}\"\n"
        );
        self.write("Cargo.toml", &manifest);
    }

    /// A pull request of this code with these edits, checked out.
    pub(crate) fn pull_request(&self, code: Code, edits: impl FnOnce(&Place)) {
        let repo = self.repo();
        git(&repo, &["checkout", "--quiet", "--force", "-B", "change", "main"]);
        git(&repo, &["clean", "-ffdxq"]);
        self.code(code);
        edits(self);
        // What is ignored can be committed too.
        git(&repo, &["add", "--all", "--force", "."]);
        git(&repo, &["commit", "--quiet", "--allow-empty", "-m", "change"]);
    }

    pub(crate) fn run(&self, check: &Check) -> (i32, String, String) {
        let program = check.program.clone().unwrap_or_else(|| PROOFMARK.into());
        let mut command = Command::new(program);
        command
            .current_dir(self.repo().join(check.from))
            .env("PROOFMARK_UNDER_TEST", PROOFMARK)
            .env("PROOFMARK_ISOLATION", "t1");
        command.env("PROOFMARK_STORE", self.path("store")).env("PROOFMARK_PEERS", "/nowhere");
        command.env("PROOFMARK_BUILD_CACHE", self.path("cache")).env("PROOFMARK_ISA", "scalar");
        command.envs(check.environment.iter().map(|(name, path)| (name, self.path(path))));
        command.args(&check.arguments).args(["--settle", "0", "--format", "json", "--quiet"]);
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    /// Expects a refusal that names something.
    pub(crate) fn refused(&self, name: &str, check: &Check, word: &str) {
        let (code, out, talk) = self.run(check);
        assert_eq!(code, 4, "{name} is not refused:\n{out}\n{talk}");
        let said = format!("{out}{talk}");
        assert!(said.contains(word), "{name}: {word} in {said}");
    }

    /// Expects a pass with these edits of the rules.
    pub(crate) fn passes(&self, name: &str, check: &Check, edits: &[&str]) -> Value {
        let (code, out, talk) = self.run(check);
        assert_eq!(code, 0, "{name} does not pass:\n{out}\n{talk}");
        let document: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(edits_of(&document), edits, "{name}: {}", document["rules"]);
        document
    }
}

pub(crate) fn edits_of(document: &Value) -> Vec<&str> {
    let edits = document["rules"]["edits"].as_array();
    edits.into_iter().flatten().filter_map(|edit| edit["what"].as_str()).collect()
}

/// A check as a CI runs it.
pub(crate) struct Check {
    pub(crate) program: Option<PathBuf>,
    pub(crate) from: &'static str,
    pub(crate) arguments: Vec<&'static str>,
    pub(crate) environment: Vec<(&'static str, &'static str)>,
}

impl Check {
    /// The head of a pull request against the base.
    pub(crate) fn head() -> Check {
        Check::of(&["--base", "rev:main", "--new", "rev:HEAD"])
    }

    pub(crate) fn of(sides: &[&'static str]) -> Check {
        let arguments = [&["check"], sides].concat();
        Check { program: None, from: "", arguments, environment: Vec::new() }
    }

    pub(crate) fn with(mut self, variable: &'static str, path: &'static str) -> Check {
        self.environment.push((variable, path));
        self
    }
}

pub(crate) fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(arguments);
    let output = command.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
