//! What we write for other tools, read by those tools: the step `exchange`.
//!
//! Tools are kept below the target folder. What cannot be had is printed, never passed over.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::check::Notes;
use crate::{Failure, check, metadata};

/// Critcmp as it is published, and the packages that read tables.
const CRITCMP: &str = "0.1.8";
const PACKAGES: [&str; 2] = ["pandas==3.1.1", "pyarrow==26.0.1"];

/// A small race of two kernels; the second run has its own seed.
const RACE: &str = "bench add --quick --dtype f32 --threads 1 --settle 0 --quiet --sweep";
const SWEEP: &str = "b=1,2 s=8 d=64";

/// A comparison with a kernel that is wrong.
const WRONG: &str = "compare native/scalar mutant/exp_by_bits --quiet --settle 0 --case";

/// Where things are.
struct Place {
    proofmark: PathBuf,
    tools: PathBuf,
    out: PathBuf,
    store: PathBuf,
}

/// Makes runs, exports them in every format and hands them to their readers.
pub(crate) fn run(root: &Path, notes: &mut Notes) -> Result<(), Failure> {
    let proofmark = check::program(root)?;
    let workspace = metadata::read(root, &["--no-deps"])?;
    let tools = Path::new(metadata::text(&workspace, "target_directory")).join("exchange");
    let place = Place { proofmark, out: tools.join("out"), store: tools.join("out/store"), tools };
    // Left from the last time; the first time there is nothing.
    let _ = std::fs::remove_dir_all(&place.out);
    std::fs::create_dir_all(&place.out).map_err(|error| format!("{error}"))?;
    place.export()?;
    let fixtures = root.join("xtask/fixtures/exchange");
    let mut told = vec![place.critcmp()?, place.benchstat()?];
    told.push(place.node(&fixtures.join("gha.mjs"))?);
    told.push(place.python(&fixtures.join("readers.py"))?);
    for line in told.iter().flat_map(|text| text.lines()) {
        println!("{line}");
        if line.contains("NOT CHECKED") {
            notes.push(line.to_owned());
        }
    }
    Ok(())
}

impl Place {
    fn export(&self) -> Result<(), Failure> {
        for (seed, name) in [("1", "old"), ("2", "new")] {
            let mut words: Vec<&str> = RACE.split(' ').collect();
            words.extend([SWEEP, "--with", "native/scalar native/simd", "--seed", seed]);
            self.proofmark(&words, 0)?;
            let text = self.path(&format!("{name}.txt"));
            self.proofmark(&["export", "latest", "--to", "go", "--out", &text], 0)?;
            let tree = self.path("target/criterion");
            let words =
                ["export", "latest", "--to", "criterion", "--out", &tree, "--baseline", name];
            self.proofmark(&words, 0)?;
        }
        for (format, file) in [
            ("gha", "gha"),
            ("bmf", "bmf.json"),
            ("junit", "run.xml"),
            ("hud", "hud.json"),
            ("csv", "run.csv"),
            ("google", "google.json"),
            ("parquet", "run.parquet"),
        ] {
            self.proofmark(&["export", "latest", "--to", format, "--out", &self.path(file)], 0)?;
        }
        let second = self.path("bmf1.json");
        let words = ["export", "latest", "--to", "bmf", "--bmf", "1", "--out", &second];
        self.proofmark(&words, 0)?;
        self.refusal()
    }

    /// A run with a wrong kernel in it.
    fn refusal(&self) -> Result<(), Failure> {
        let mut words: Vec<&str> = WRONG.split(' ').collect();
        words.push("softmax:f32[b=1,s=4,d=40]");
        self.proofmark(&words, 3)?;
        for (format, file) in [("junit", "refused/run.xml"), ("csv", "refused/run.csv")] {
            self.proofmark(&["export", "latest", "--to", format, "--out", &self.path(file)], 0)?;
        }
        Ok(())
    }

    fn path(&self, name: &str) -> String {
        self.out.join(name).display().to_string()
    }

    fn proofmark(&self, words: &[&str], code: i32) -> Result<(), Failure> {
        let output = Command::new(&self.proofmark)
            .args(words)
            .env("PROOFMARK_STORE", &self.store)
            .output()
            .map_err(|error| format!("{}: {error}", self.proofmark.display()))?;
        if output.status.code() == Some(code) {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(format!("`proofmark {}` ended with {}: {said}", words.join(" "), output.status))
    }

    /// Critcmp itself, on two baselines in one folder.
    fn critcmp(&self) -> Result<String, Failure> {
        let folder = self.tools.join("critcmp");
        let program = folder.join("bin/critcmp");
        if !program.exists() {
            let root = folder.display().to_string();
            let words =
                ["install", "--quiet", "--debug", "--locked", "--version", CRITCMP, "--root"];
            let built = Command::new("cargo")
                .args(words)
                .args([&root, "critcmp"])
                .env("CARGO_TARGET_DIR", folder.join("target"))
                .output();
            if let Err(why) = succeeded("cargo install critcmp", built) {
                return Ok(format!("exchange: critcmp: NOT CHECKED: {why}"));
            }
        }
        let target = self.path("target");
        let output = Command::new(&program).args(["--target-dir", &target, "old", "new"]).output();
        let text = succeeded("critcmp", output)?;
        let rows = text.lines().filter(|line| line.starts_with("add/native/")).count();
        if rows != 4 || text.contains("? ?/sec") {
            return Err(format!("critcmp does not show our four benchmarks:\n{text}"));
        }
        Ok(format!("exchange: critcmp: {rows} benchmarks of two baselines (critcmp {CRITCMP})"))
    }

    /// Benchstat itself, where somebody has it: its module is on no registry that CI reaches.
    fn benchstat(&self) -> Result<String, Failure> {
        let files = [self.path("old.txt"), self.path("new.txt")];
        let output = match Command::new("benchstat").args(&files).output() {
            Err(error) => {
                return Ok(format!(
                    "exchange: benchstat: NOT CHECKED with itself ({error}): our own reader of \
                     the public grammar stands in"
                ));
            }
            output => output,
        };
        let text = succeeded("benchstat", output)?;
        match text.contains("sec/op") && text.contains("vs base") && text.contains("n=1") {
            true => Ok("exchange: benchstat: compares old and new (benchstat itself)".to_owned()),
            false => Err(format!("benchstat does not compare our files:\n{text}")),
        }
    }

    fn node(&self, script: &Path) -> Result<String, Failure> {
        let output = Command::new("node").arg(script).arg(&self.out).output();
        match output {
            Err(error) => {
                Ok(format!("exchange: github-action-benchmark: NOT CHECKED: node: {error}"))
            }
            output => succeeded("node", output),
        }
    }

    fn python(&self, script: &Path) -> Result<String, Failure> {
        let folder = self.tools.join("python");
        let python = folder.join("bin/python");
        let mut told = String::new();
        if !folder.join("ready").exists() {
            let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).output();
            succeeded("python3 -m venv", made)?;
            let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
            let got = Command::new(&python).args(options).args(PACKAGES).output();
            match succeeded("pip install", got) {
                Err(why) => told = format!("exchange: packages: NOT CHECKED: {why}\n"),
                Ok(_) => std::fs::write(folder.join("ready"), "")
                    .map_err(|error| format!("{}: {error}", folder.display()))?,
            }
        }
        let output = Command::new(&python).arg(script).arg(&self.out).output();
        Ok(told + &succeeded("the readers in Python", output)?)
    }
}

/// What a program wrote, if it ended well.
fn succeeded(what: &str, output: std::io::Result<Output>) -> Result<String, Failure> {
    let output = output.map_err(|error| format!("{what}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{what} ended with {}:\n{text}{said}", output.status))
}
