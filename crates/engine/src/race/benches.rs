//! The bench targets of a git revision, built in the worktree that revisions share.
//!
//! All revisions are built at the same path, one after the other, so that the same code becomes
//! the same program. The programs are copied away, because the next build replaces them.

use super::artefact::Programs;
use super::revision::{Builds, Workshop, io_error};
use crate::git::{command, last_lines, start};
use crate::{EngineError, Event};
use proofmark_programs::cargo;
use proofmark_programs::{BenchTarget, Command};
use proofmark_store::Store;
use std::fs;
use std::path::PathBuf;

impl Programs<'_> {
    /// Checks a revision out into a folder of one side, builds it there by a command, and gives the
    /// folder of the crate. Commands run programs where they were built, so that each side has a
    /// tree; the paths of both have the same length.
    pub(crate) fn checked_out(
        &self,
        commit: &str,
        side: usize,
        build: Option<&Command>,
    ) -> Result<PathBuf, EngineError> {
        let cache = Store::open(self.cache.ok_or(EngineError::NoCache)?)?;
        let builds = Builds { cache: &cache, store: self.store.root(), repo: self.repo };
        let workshop = Workshop::open(&builds)?.on_side(side);
        let place = workshop.place();
        let words = build.map_or_else(String::new, |build| build.words.join(" "));
        let (marker, mark) = (workshop.marker(), format!("{commit} {words}"));
        if fs::read_to_string(&marker).is_ok_and(|known| known == mark) {
            return Ok(place);
        }
        // A build that is cut off must not look like a finished one.
        let _ = fs::remove_file(&marker);
        workshop.check_out(commit)?;
        if let Some(build) = build {
            let note = format!("building {}", &commit[..commit.len().min(12)]);
            self.listener.hear(&Event::Note(note));
            let mut process = command(&build.words[0], &place);
            process.args(&build.words[1..]);
            process.envs(build.environment.iter().map(|(name, value)| (name, value)));
            let output = start(&mut process, &build.words[0])?;
            if !output.status.success() {
                let said = last_lines(&output.stderr);
                return Err(EngineError::Build { revision: commit.to_owned(), said });
            }
        }
        fs::write(&marker, mark).map_err(io_error("write", &marker))?;
        Ok(place)
    }

    /// Builds the bench targets of a revision and keeps their programs. Their folders are those of
    /// the worktree, which has the files of the revision that was built last.
    pub(crate) fn bench_targets(&self, revision: &str) -> Result<Vec<BenchTarget>, EngineError> {
        let cache = Store::open(self.cache.ok_or(EngineError::NoCache)?)?;
        let builds = Builds { cache: &cache, store: self.store.root(), repo: self.repo };
        let workshop = Workshop::open(&builds)?;
        let commit = workshop.resolve(revision)?;
        workshop.check_out(&commit)?;
        let note = format!("building the benches of rev:{revision} ({})", &commit[..12]);
        self.listener.hear(&Event::Note(note));
        let place = workshop.place();
        let is_locked = place.ancestors().any(|folder| folder.join("Cargo.lock").is_file());
        let mut build = command("cargo", &place);
        build.args(cargo::build_args(is_locked));
        build.arg("--target-dir").arg(workshop.folder().join("target"));
        let output = start(&mut build, "cargo bench --no-run")?;
        if !output.status.success() {
            let said = last_lines(&output.stderr);
            return Err(EngineError::Build { revision: revision.to_owned(), said });
        }
        let kept = workshop.folder().join("benches").join(&commit);
        fs::create_dir_all(&kept).map_err(io_error("make", &kept))?;
        let mut targets = cargo::built(&String::from_utf8_lossy(&output.stdout));
        targets.sort_by(|first, second| first.name.cmp(&second.name));
        for (number, target) in targets.iter_mut().enumerate() {
            // Targets of two packages may have the same name.
            let path = kept.join(format!("{number}-{}", target.name));
            // A program that runs cannot be written to, but it can be replaced.
            let _ = fs::remove_file(&path);
            fs::copy(&target.program, &path).map_err(io_error("keep", &path))?;
            target.program = path;
        }
        Ok(targets)
    }
}
