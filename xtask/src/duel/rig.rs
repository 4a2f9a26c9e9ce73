//! Where the harnesses were built, and how one of their programs is started.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::noise;
use super::track::Track;
use crate::{Failure, metadata};

/// Debian's interpreter, the one that Debian's scipy belongs to.
pub(super) const PYTHON: &str = "/usr/bin/python3";

/// The places of everything a comparison starts.
pub(super) struct Rig {
    /// Where Cargo puts what belongs to the duel.
    pub(super) anchors: PathBuf,
    /// The product.
    pub(super) proofmark: PathBuf,
    /// For files of one comparison.
    pub(super) scratch: PathBuf,
    last_processor: usize,
    /// Nanoseconds a call, by case.
    call_ns: RefCell<BTreeMap<&'static str, f64>>,
}

impl Rig {
    pub(super) fn new(root: &Path) -> Result<Rig, Failure> {
        let workspace = metadata::read(root, &["--no-deps"])?;
        let target = PathBuf::from(metadata::text(&workspace, "target_directory"));
        let processors = noise::processors()?;
        Ok(Rig {
            anchors: target.join("anchors"),
            proofmark: target.join("release/proofmark"),
            scratch: target.join("anchors/scratch"),
            last_processor: processors[processors.len() - 1],
            call_ns: RefCell::default(),
        })
    }

    /// A program of the duel by its name.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.anchors.join("release").join(name)
    }

    /// `program`, ended after `seconds`, on the last processor if the track has one thread.
    pub(super) fn pinned(&self, track: &Track, program: &Path, seconds: f64) -> Command {
        let mut command = bounded(seconds);
        if track.threads == 1 {
            command.args(["taskset", "-c", &self.last_processor.to_string()]);
        }
        command.arg(program).env("DUEL_CASE", track.case);
        command
    }

    /// How long one call takes, measured once.
    pub(super) fn call_ns(&self, track: &Track) -> Result<f64, Failure> {
        if let Some(&known) = self.call_ns.borrow().get(track.case) {
            return Ok(known);
        }
        let mut command = self.pinned(track, &self.program("duel-loop"), 30.0);
        let text = output(command.args([track.case, "0", "ns"]))?;
        let ns = text.trim().parse().map_err(|_| format!("duel-loop said `{text}`"))?;
        self.call_ns.borrow_mut().insert(track.case, ns);
        Ok(ns)
    }
}

/// The start of a command line that is ended after so many seconds, and ten times that for noise.
pub(super) fn bounded(seconds: f64) -> Command {
    let mut command = Command::new("timeout");
    // In the foreground, so that an interrupt from the keyboard reaches it.
    command.args(["--foreground", "-k", "1", &format!("{:.0}", 30.0 + 10.0 * seconds)]);
    command
}

/// What a command wrote to stdout.
pub(super) fn output(command: &mut Command) -> Result<String, Failure> {
    let output = answered(command)?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} ended with {}: {}", output.status, errors.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What a command answered, whatever its exit code.
pub(super) fn answered(command: &mut Command) -> Result<std::process::Output, Failure> {
    let hint = "`cargo xtask duel setup` builds the harnesses";
    command.output().map_err(|error| format!("{command:?} did not start: {error}; {hint}"))
}
