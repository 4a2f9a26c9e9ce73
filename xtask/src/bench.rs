//! `cargo bench` as a stranger types it: a crate outside whose kernels are proven and measured,
//! then broken.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::check::Notes;
use crate::{Failure, check, library};

/// The most crates of others that the harness may need.
const MOST_EXTERNAL: usize = 5;

/// The stranger's files, and where they are put.
const FILES: &[(&str, &str)] = &[
    ("crates/bench/tests/stranger/lib.rs", "src/lib.rs"),
    ("crates/bench/tests/stranger/kernels.rs", "benches/kernels.rs"),
    ("rust-toolchain.toml", "rust-toolchain.toml"),
];

/// Builds the stranger's crate and types its commands.
pub(crate) fn run(root: &Path, notes: &mut Notes) -> Result<(), Failure> {
    // Commands run in other folders.
    let root = &root.canonicalize().map_err(|error| error.to_string())?;
    let home = std::env::temp_dir().join(format!("proofmark-bench-{}", std::process::id()));
    let outcome = stranger(root, &home).and_then(|stranger| stranger.walk(notes));
    // What is left there costs disk and nothing else.
    let _ = fs::remove_dir_all(&home);
    outcome
}

struct Stranger {
    home: PathBuf,
    program: PathBuf,
}

/// Writes the crate.
fn stranger(root: &Path, home: &Path) -> Result<Stranger, Failure> {
    let manifest = format!(
        "[package]\nname = \"stranger\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [lib]\nbench = false\n\n\
         [dev-dependencies]\nproofmark-bench = {{ path = {:?} }}\n\n\
         [[bench]]\nname = \"kernels\"\nharness = false\n\n[workspace]\n",
        root.join("crates/bench")
    );
    let failed = |error: std::io::Error| format!("{}: {error}", home.display());
    for folder in ["src", "benches"] {
        fs::create_dir_all(home.join(folder)).map_err(failed)?;
    }
    fs::write(home.join("Cargo.toml"), manifest).map_err(failed)?;
    for (from, to) in FILES {
        fs::copy(root.join(from), home.join(to)).map_err(failed)?;
    }
    Ok(Stranger { home: home.to_path_buf(), program: check::program(root)? })
}

impl Stranger {
    fn walk(&self, notes: &mut Notes) -> Result<(), Failure> {
        let external = library::external(&self.home)?;
        if external.len() > MOST_EXTERNAL {
            return Err(format!("the harness needs {} external crates", external.len()));
        }
        let begin = Instant::now();
        self.expect("cargo bench --no-run", 0, &[])?;
        notes.push(format!(
            "bench: {} external crates, a build of {:.0} s in a crate outside",
            external.len(),
            begin.elapsed().as_secs_f64()
        ));
        let names = ["group_softmax/fast: benchmark", "softmax/mine: benchmark"];
        self.expect("cargo bench -- --list", 0, &names)?;
        self.expect("cargo nextest list --benches", 0, &["group_softmax/fast", "softmax/mine"])?;
        self.expect("cargo test --benches -- fast mine packed", 0, &["PROVEN"])?;
        let quick = "--quick --threads 1 --dtype f32";
        let rows = ["own/fast", "own/reference_f32", "PROVEN"];
        self.expect(&format!("cargo bench -- fast {quick} --warm-up-time 1"), 0, &rows)?;
        self.expect(&format!("cargo bench -- packed {quick} --save-baseline first"), 0, &[])?;
        let rows = ["own/packed", "own/first.packed"];
        self.expect(&format!("cargo bench -- packed {quick} --baseline first"), 0, &rows)?;
        self.broken("*y /= sum;", "*y /= sum * 1.001;", "WRONG")?;
        self.broken("let mut sum = 0.0;", "let mut sum = [0.0][cols];", "CRASHED")
    }

    /// Breaks the library, sees that its kernel is refused, and mends it.
    fn broken(&self, right: &str, wrong: &str, outcome: &str) -> Result<(), Failure> {
        let path = self.home.join("src/lib.rs");
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let text = fs::read_to_string(&path).map_err(failed)?;
        if !text.contains(right) {
            return Err(format!("{} has no `{right}` to break", path.display()));
        }
        fs::write(&path, text.replace(right, wrong)).map_err(failed)?;
        let line = "cargo bench -- group_softmax/fast --exact --quick --threads 1";
        let (code, said) = self.output(line)?;
        fs::write(&path, text).map_err(failed)?;
        match code != Some(0) && said.contains(outcome) {
            true => Ok(()),
            false => {
                Err(format!("`{line}` with `{wrong}` ended with {code:?}, not {outcome}:\n{said}"))
            }
        }
    }

    fn expect(&self, line: &str, code: i32, parts: &[&str]) -> Result<(), Failure> {
        let (ended, said) = self.output(line)?;
        let missing = parts.iter().find(|part| !said.contains(**part));
        match (ended == Some(code), missing) {
            (true, None) => Ok(()),
            (false, _) => Err(format!("`{line}` ended with {ended:?}, not with {code}:\n{said}")),
            (_, Some(part)) => Err(format!("`{line}` does not say `{part}`:\n{said}")),
        }
    }

    /// Runs a command in the crate; its exit code and what it printed.
    fn output(&self, line: &str) -> Result<(Option<i32>, String), Failure> {
        println!("$ {line}");
        let mut words = line.split(' ');
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(&self.home).env("PROOFMARK", &self.program);
        command.env_remove("CARGO_TARGET_DIR");
        let output = command.output().map_err(|error| format!("`{line}`: {error}"))?;
        let said = [output.stdout, output.stderr].concat();
        Ok((output.status.code(), String::from_utf8_lossy(&said).into_owned()))
    }
}
