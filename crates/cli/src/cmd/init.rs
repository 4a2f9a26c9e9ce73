//! `proofmark init`: a file to begin with, and what CI needs to run the check.

use crate::exit;
use crate::output::{Failure, say};
use clap::Args;
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

const PROJECT: Sample = ("proofmark.toml", include_str!("../../ci/proofmark.toml"), 0o644);
const WORKFLOW: Sample =
    (".github/workflows/proofmark.yml", include_str!("../../ci/proofmark.yml"), 0o644);
const SCRIPT: Sample =
    ("ci/proofmark-check.sh", include_str!("../../ci/proofmark-check.sh"), 0o755);

impl Init {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let mut samples = vec![PROJECT];
        samples.extend(self.github.then_some(WORKFLOW));
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
            write(&path, text, mode).map_err(|error| {
                Failure::environment(format!("cannot write {}: {error}", path.display()))
            })?;
            say(&format!("wrote {}", path.display()));
        }
        say("\nnext: name your cases under [check], then `proofmark check`");
        Ok(exit::PASS)
    }
}

fn write(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())
}
