//! The directory of runs.

use crate::name::{self, ShortName};
use crate::run::{Run, RunPath, file};
use crate::seal::{self, Verification};
use crate::writer::{self, RunWriter};
use crate::{ItemEntry, StoreError, check_run_id, durable, journal};
use proofmark_schema::machine::MachineFacts;
use proofmark_schema::plan::Plan;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The word for the newest run.
pub const LATEST: &str = "latest";

/// Runs under one root directory.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) root: PathBuf,
}

impl Store {
    /// The store at this root; nothing is written before a run is made.
    pub fn open(root: &Path) -> Result<Store, StoreError> {
        match fs::metadata(root) {
            Ok(facts) if !facts.is_dir() => {
                Err(StoreError::io("use", root)(io::ErrorKind::NotADirectory.into()))
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::io("use", root)(error))
            }
            _ => Ok(Store { root: root.to_owned() }),
        }
    }

    /// A small file next to the runs; `None` if it is not there.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read_file(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        durable::read_if_there(&self.root.join(name))
    }

    /// Puts a small file next to the runs, whole or not at all. A change that depends on the old
    /// bytes is made with [`Store::update_file`].
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_file(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        durable::make_folder(&self.root)?;
        durable::replace(&self.root, name, bytes)
    }

    /// Changes a small file next to the runs, whole or not at all. Other writers wait meanwhile, so
    /// that no change is lost.
    ///
    /// # Errors
    /// If it cannot be read or written, or another process does not finish changing it.
    pub fn update_file(
        &self,
        name: &str,
        change: impl FnOnce(Option<Vec<u8>>) -> Vec<u8>,
    ) -> Result<(), StoreError> {
        durable::make_folder(&self.root)?;
        let _lock = durable::lock(&self.root.join(format!(".{name}.lock")))?;
        let old = self.read_file(name)?;
        durable::replace(&self.root, name, &change(old))
    }

    /// Where the runs lie.
    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// Makes a run. It appears whole, with plan, machine and journal, or not at all.
    pub fn create(
        &self,
        run_id: &str,
        plan: &Plan,
        machine: &MachineFacts,
    ) -> Result<RunWriter, StoreError> {
        check_run_id(run_id)?;
        check_numbers(plan)?;
        let run = RunPath { id: run_id.to_owned(), path: self.runs().join(run_id) };
        if fs::symlink_metadata(&run.path).is_ok() {
            return Err(StoreError::Exists(run.id));
        }
        let (plan_bytes, machine_bytes) = (writer::readable(plan)?, writer::readable(machine)?);
        let first = writer::first_frame(run_id, &plan_bytes, &machine_bytes)?;
        durable::make_folder(&self.runs())?;
        let fresh = self.fresh_directory(run_id)?;
        let made = fill(&fresh, &run, &plan_bytes, &machine_bytes, &first);
        let file = made.inspect_err(|_| {
            // The first error is the one to report; what is left behind is hidden and harmless.
            let _ = fs::remove_dir_all(&fresh);
        })?;
        durable::sync_directory(&self.runs())?;
        Ok(RunWriter::fresh(run, plan, file, &first))
    }

    /// An empty hidden directory of this process's own, beside the runs.
    fn fresh_directory(&self, run_id: &str) -> Result<PathBuf, StoreError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".{run_id}.{}-{count}.new", std::process::id());
        let path = self.runs().join(name);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("remove", &path)(error));
            }
            _ => {}
        }
        fs::create_dir(&path).map_err(StoreError::io("make", &path))?;
        Ok(path)
    }

    /// Opens an unfinished run for writing and returns what is done already. `text` is whatever
    /// [`Store::find`] takes.
    pub fn resume(&self, text: &str) -> Result<(RunWriter, Vec<ItemEntry>), StoreError> {
        RunWriter::resume(self.find(text)?)
    }

    /// Reads a run from its journal, sealed or not. Every file of a sealed one is held against
    /// its hash first.
    pub fn load(&self, text: &str) -> Result<Run, StoreError> {
        self.find(text)?.load()
    }

    /// Checks every file of a run against its hashes.
    pub fn verify(&self, text: &str) -> Result<Verification, StoreError> {
        seal::verify(&self.find(text)?)
    }

    /// Checks every byte in the folder of a run: that it is sealed, that its files are as they
    /// were sealed, that derived files say what the journal says, and that no other file is there.
    ///
    /// # Errors
    /// If it cannot be read, is not there, or was written by a later version.
    pub fn verify_whole(&self, text: &str) -> Result<Verification, StoreError> {
        seal::verify_whole(&self.find(text)?)
    }

    /// The ids of all runs, newest first (ids sort by time).
    pub fn list(&self) -> Result<Vec<String>, StoreError> {
        let runs = self.runs();
        let entries = match fs::read_dir(&runs) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(StoreError::io("list", &runs))?,
        };
        let mut ids = Vec::new();
        for entry in entries {
            let entry = entry.map_err(StoreError::io("list", &runs))?;
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if let Ok(name) = entry.file_name().into_string()
                && is_directory
                && check_run_id(&name).is_ok()
            {
                ids.push(name);
            }
        }
        ids.sort_unstable_by(|a, b| b.cmp(a));
        Ok(ids)
    }

    /// The number of a run: the oldest of the store is 1. Nothing if the store does not have it.
    ///
    /// # Errors
    /// If the runs cannot be listed.
    pub fn number(&self, id: &str) -> Result<Option<usize>, StoreError> {
        let ids = self.list()?;
        Ok(ids.iter().position(|known| known == id).map(|newer| ids.len() - newer))
    }

    /// The run that a text means: `latest`, its number, its day and op (`2026-11-17-softmax`, the
    /// newest of several), an id, the beginning of just one id, or a path.
    pub fn find(&self, text: &str) -> Result<RunPath, StoreError> {
        let ids = self.list()?;
        let missing = || StoreError::NotFound {
            text: text.to_owned(),
            root: self.runs(),
            known: ids.clone(),
        };
        if text.contains('/') {
            let path = fs::canonicalize(text).map_err(|_| missing())?;
            return if path.is_dir() { RunPath::of(&path) } else { Err(missing()) };
        }
        if text == LATEST {
            let newest = ids.first().ok_or_else(missing)?;
            return RunPath::of(&self.runs().join(newest));
        }
        check_run_id(text)?;
        if ids.iter().any(|id| id == text) {
            return RunPath::of(&self.runs().join(text));
        }
        match ShortName::of(text) {
            Some(ShortName::Number(number)) => {
                let newer = ids.len().checked_sub(number).ok_or_else(missing)?;
                return RunPath::of(&self.runs().join(&ids[newer]));
            }
            Some(ShortName::Day { day, op }) => {
                let runs = ids.iter().filter(|id| name::day(id) == Some(day));
                let mut runs = runs.filter_map(|id| RunPath::of(&self.runs().join(id)).ok());
                return runs.find(|run| op.is_none_or(|op| run.has_op(op))).ok_or_else(missing);
            }
            None => {}
        }
        let begins = |id: &&String| id.starts_with(text);
        let mut matches: Vec<String> = ids.iter().filter(begins).cloned().collect();
        match (matches.pop(), matches.is_empty()) {
            (None, _) => Err(missing()),
            (Some(only), true) => RunPath::of(&self.runs().join(only)),
            (Some(last), false) => {
                matches.push(last);
                Err(StoreError::Ambiguous { text: text.to_owned(), matches })
            }
        }
    }
}

/// Fills a new run's directory, locks its journal and puts it in place.
fn fill(
    fresh: &Path,
    run: &RunPath,
    plan: &[u8],
    machine: &[u8],
    first_frame: &[u8],
) -> Result<fs::File, StoreError> {
    durable::write_synced(&fresh.join(file::PLAN), plan)?;
    durable::write_synced(&fresh.join(file::MACHINE), machine)?;
    let path = fresh.join(file::JOURNAL);
    let journal = durable::write_synced(&path, first_frame)?;
    if !journal::lock(&journal).map_err(StoreError::io("lock", &path))? {
        return Err(StoreError::Busy { run: run.id.clone(), pid: None });
    }
    durable::sync_directory(fresh)?;
    match fs::rename(fresh, &run.path) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            Err(StoreError::Exists(run.id.clone()))
        }
        renamed => renamed.map(|()| journal).map_err(StoreError::io("rename to", &run.path)),
    }
}

/// Checks that no two items have the same number, because nothing else distinguishes them.
fn check_numbers(plan: &Plan) -> Result<(), StoreError> {
    let mut known = BTreeSet::new();
    match plan.items.iter().find(|item| !known.insert(item.index)) {
        Some(item) => Err(StoreError::Unreadable(format!("the plan has two items {}", item.index))),
        None => Ok(()),
    }
}
