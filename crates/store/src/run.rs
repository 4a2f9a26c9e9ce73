//! A run as it lies on the disk, whole or not yet.

use crate::contents::Contents;
use crate::durable::{self, read_file};
use crate::entry::{ItemEntry, Session, Start};
use crate::seal::{self, Seal};
use crate::{StoreError, check_run_id};
use proofmark_schema::machine::MachineFacts;
use proofmark_schema::plan::Plan;
use proofmark_schema::program::ProgramEntry;
use proofmark_schema::record::Record;
use rustix::fs::OFlags;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The files of a run.
pub(crate) mod file {
    pub(crate) const PLAN: &str = "plan.json";
    pub(crate) const MACHINE: &str = "machine.json";
    pub(crate) const JOURNAL: &str = "journal";
    pub(crate) const RECORDS: &str = "records.jsonl";
    pub(crate) const SLICES: &str = "slices.bin";
    pub(crate) const SEAL: &str = "seal.json";
}

/// A run: its plan, where it ran, and what it recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// What it was to do.
    pub plan: Plan,
    /// Where it ran.
    pub machine: MachineFacts,
    /// What it recorded, in the order it did.
    pub items: Vec<ItemEntry>,
    /// The sessions that wrote it.
    pub sessions: Vec<Session>,
    /// Notes in addition to the items.
    pub notes: Vec<String>,
    /// Races and comparisons of programs, in the order in which they ended.
    pub programs: Vec<ProgramEntry>,
    /// Bytes at the journal's end that hold no whole entry: a write that was not finished, or
    /// has not finished yet.
    pub torn_bytes: u64,
    /// Whether it is complete and closed.
    pub sealed: bool,
}

impl Run {
    /// Every record in the order of the journal.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.items.iter().flat_map(|entry| &entry.records)
    }

    /// The items of the plan that are not recorded.
    pub fn missing(&self) -> Vec<u64> {
        let done: BTreeSet<u64> = self.items.iter().map(|entry| entry.item).collect();
        self.plan.items.iter().map(|item| item.index).filter(|item| !done.contains(item)).collect()
    }
}

/// Where a run lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPath {
    /// The run's id, which is the directory's name.
    pub id: String,
    /// The directory.
    pub path: PathBuf,
}

impl RunPath {
    /// The run in this directory, if its name can be an id.
    pub(crate) fn of(path: &Path) -> Result<RunPath, StoreError> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let id = name.unwrap_or_default();
        check_run_id(&id)?;
        Ok(RunPath { id, path: path.to_owned() })
    }

    /// Whether its plan has this op. A plan that cannot be read has none.
    pub(crate) fn has_op(&self, op: &str) -> bool {
        let path = self.file(file::PLAN);
        let plan = read_file(&path).and_then(|bytes| parse::<Plan>(&bytes, &path));
        plan.is_ok_and(|plan| plan.items.iter().any(|item| item.case.op == op))
    }

    /// One of its files.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Its seal, if it has one.
    pub(crate) fn seal(&self) -> Result<Option<Seal>, StoreError> {
        let path = self.file(file::SEAL);
        let Some(bytes) = durable::read_if_there(&path)? else {
            return Ok(None);
        };
        let seal: Seal = parse(&bytes, &path)?;
        if seal.text()? != bytes {
            return Err(StoreError::damaged(&path, 0, "these are not the bytes that a seal has"));
        }
        Ok(Some(seal))
    }

    /// Its plan and its machine, checked against the hashes in the journal's first frame.
    pub(crate) fn setting(
        &self,
        start: Option<&Start>,
    ) -> Result<(Plan, MachineFacts), StoreError> {
        let (plan_path, machine_path) = (self.file(file::PLAN), self.file(file::MACHINE));
        let (plan, machine) = (read_file(&plan_path)?, read_file(&machine_path)?);
        if let Some(start) = start {
            if start.run != self.id {
                return Err(StoreError::Renamed {
                    folder: self.path.clone(),
                    run: start.run.escape_debug().to_string(),
                });
            }
            for (bytes, hash, path) in
                [(&plan, &start.plan, &plan_path), (&machine, &start.machine, &machine_path)]
            {
                if &hash_of(bytes) != hash {
                    let reason = "it is not the file that the run began with";
                    return Err(StoreError::damaged(path, 0, reason));
                }
            }
        }
        Ok((parse(&plan, &plan_path)?, parse(&machine, &machine_path)?))
    }

    /// Reads the whole run. If it is sealed, its files must be as they were sealed. Every run is
    /// opened for reading through this function.
    pub(crate) fn load(&self) -> Result<Run, StoreError> {
        // A run that is sealed after this check was written a moment ago, so its hashes need no
        // check here.
        if std::fs::symlink_metadata(self.file(file::SEAL)).is_ok() {
            let found = seal::verify(self)?;
            if !found.is_intact() {
                return Err(StoreError::Altered {
                    folder: self.path.clone(),
                    files: found.damaged,
                });
            }
        }
        self.read()
    }

    /// Reads the whole run from its journal; other derived files are not looked at.
    pub(crate) fn read(&self) -> Result<Run, StoreError> {
        let path = self.file(file::JOURNAL);
        // The seal is read first, so that a run sealed in between is read as it was: unsealed.
        let seal = self.seal()?;
        let contents = Contents::read(&durable::open_plain(&path, OFlags::RDONLY)?, &path)?;
        let (plan, machine) = self.setting(contents.start.as_ref())?;
        if let Some(seal) = &seal {
            seal.check_counts(self, &contents)?;
        }
        let Contents { items, sessions, notes, programs, torn_bytes, .. } = contents;
        let (id, sealed) = (self.id.clone(), seal.is_some());
        Ok(Run { id, plan, machine, items, sessions, notes, programs, torn_bytes, sealed })
    }
}

/// The hash of a file's bytes, as it is written down.
pub(crate) fn hash_of(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8], path: &Path) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|error| StoreError::damaged(path, 0, error.to_string()))
}
