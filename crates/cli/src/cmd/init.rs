//! `proofmark init`: a file to begin with, and what CI needs to run the check.
//!
//! A project that has benchmarks gets files that race them as they are; any other gets those that
//! check ops.

use super::programs::SECONDS;
use crate::exit;
use crate::output::{Failure, counted, say};
use clap::Args;
use proofmark_engine::{FoundBenches, find_benches};
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Arguments of `init`.
#[derive(Args)]
pub(crate) struct Init {
    /// Folder to write to
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    /// Write a GitHub workflow too
    #[arg(long)]
    github: bool,
    /// Write a script for any other CI too
    #[arg(long)]
    script: bool,
    /// Write over files that are there
    #[arg(long)]
    force: bool,
}

/// A file that is written: where, its text, and its mode.
type Sample = (&'static str, &'static str, u32);

const BENCHES: Sample = ("proofmark.toml", include_str!("../../ci/benches.toml"), 0o644);
const BENCHES_WORKFLOW: Sample =
    (".github/workflows/proofmark.yml", include_str!("../../ci/benches.yml"), 0o644);
/// What stands in the file of benches for the revision that is compared with.
const BASE: &str = "rev:origin/main";

const PROJECT: Sample = ("proofmark.toml", include_str!("../../ci/proofmark.toml"), 0o644);
const WORKFLOW: Sample =
    (".github/workflows/proofmark.yml", include_str!("../../ci/proofmark.yml"), 0o644);
const SCRIPT: Sample =
    ("ci/proofmark-check.sh", include_str!("../../ci/proofmark-check.sh"), 0o755);

impl Init {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let found = find_benches(&self.folder);
        let (project, workflow) = match &found {
            Some(_) => (BENCHES, BENCHES_WORKFLOW),
            None => (PROJECT, WORKFLOW),
        };
        let mut samples = vec![project];
        samples.extend(self.github.then_some(workflow));
        samples.extend(self.script.then_some(SCRIPT));
        // If the project file already exists, only the other files are written.
        if samples.len() > 1 && !self.force && self.folder.join(PROJECT.0).exists() {
            samples.remove(0);
        }
        let there = samples.iter().map(|sample| self.folder.join(sample.0)).find(|it| it.exists());
        if let Some(path) = there.filter(|_| !self.force) {
            return Err(Failure {
                message: format!("{} is there already", path.display()),
                hint: Some("`--force` writes over it".to_owned()),
                code: exit::USAGE,
            });
        }
        for (name, text, mode) in samples {
            let path = self.folder.join(name);
            let text = match &found {
                Some(found) => text.replace(BASE, &format!("rev:{}", found.base)),
                None => text.to_owned(),
            };
            write(&path, &text, mode).map_err(|error| {
                Failure::environment(format!("cannot write {}: {error}", path.display()))
            })?;
            say(&format!("wrote {}", path.display()));
        }
        say(&found.map_or_else(
            || "\nnext: name your cases under [check], then `proofmark check`".to_owned(),
            |found| cost(&found),
        ));
        Ok(exit::PASS)
    }
}

/// What was found, what a check of it costs, and what to do next.
fn cost(found: &FoundBenches) -> String {
    let targets = counted(found.targets.len(), "bench target");
    let benchmarks = counted(found.benchmarks, "benchmark");
    let longest = found.benchmarks as f64 * SECONDS / 60.0;
    format!(
        "\nfound {targets} ({}) with {benchmarks} or more\n\
         cost: two builds, then up to {SECONDS:.0} s for each benchmark: {longest:.1} minutes for \
         {}, and as much again for those that look slower\n\
         next: commit the files, then `proofmark check` races the working tree against {}",
        found.targets.join(", "),
        found.benchmarks,
        found.base
    )
}

fn write(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())
}
