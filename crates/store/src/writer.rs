//! The one writer of a run.

use crate::contents::Contents;
use crate::durable;
use crate::entry::{ItemEntry, Session, Start, kind};
use crate::frame::Link;
use crate::journal::{self, Journal};
use crate::run::{RunPath, file, hash_of};
use crate::seal::{self, Seal};
use crate::{StoreError, frame};
use proofmark_schema::FORMAT_VERSION;
use proofmark_schema::plan::Plan;
use proofmark_schema::program::ProgramEntry;
use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

/// Writes one run. While it lives, no other writer can open the run.
pub struct RunWriter {
    run: RunPath,
    pub(crate) journal: Journal,
    planned: BTreeSet<u64>,
    done: BTreeSet<u64>,
    cut_bytes: u64,
    sealed: bool,
}

impl RunWriter {
    /// The writer of a run that was made this moment; the file is locked and holds the first frame.
    pub(crate) fn fresh(run: RunPath, plan: &Plan, file: File, first_frame: &[u8]) -> RunWriter {
        let journal = Journal {
            file: Box::new(file),
            path: run.file(file::JOURNAL),
            run: run.id.clone(),
            end: first_frame.len() as u64,
            sequence: 1,
            link: frame::link_of(first_frame),
            stopped: false,
        };
        let planned = plan.items.iter().map(|item| item.index).collect();
        RunWriter { run, journal, planned, done: BTreeSet::new(), cut_bytes: 0, sealed: false }
    }

    /// Opens a run again, cuts a torn tail and returns what is done.
    pub(crate) fn resume(run: RunPath) -> Result<(RunWriter, Vec<ItemEntry>), StoreError> {
        let path = run.file(file::JOURNAL);
        let file = durable::open_plain(&path, OFlags::RDWR | OFlags::APPEND)?;
        if !journal::lock(&file).map_err(StoreError::io("lock", &path))? {
            let pid = writing_pid(&file, &path);
            return Err(StoreError::Busy { run: run.id, pid });
        }
        let contents = Contents::read(&file, &path)?;
        let (plan, _) = run.setting(contents.start.as_ref())?;
        let seal = run.seal()?;
        if let Some(seal) = &seal {
            seal.check_counts(&run, &contents)?;
        }
        let journal = Journal {
            file: Box::new(file),
            path,
            run: run.id.clone(),
            end: contents.end,
            sequence: contents.sequence,
            link: contents.link,
            stopped: false,
        };
        let mut writer = RunWriter {
            run,
            journal,
            planned: plan.items.iter().map(|item| item.index).collect(),
            done: contents.items.iter().map(|entry| entry.item).collect(),
            cut_bytes: contents.torn_bytes,
            sealed: seal.is_some(),
        };
        if !writer.sealed {
            writer.begin_session(contents.start.is_none())?;
        }
        Ok((writer, contents.items))
    }

    fn begin_session(&mut self, is_first: bool) -> Result<(), StoreError> {
        if self.cut_bytes > 0 {
            self.journal.cut_tail()?;
        }
        if is_first {
            // The torn tail began before the first frame ended, so nothing is lost with it.
            let plan = durable::read_file(&self.run.file(file::PLAN))?;
            let machine = durable::read_file(&self.run.file(file::MACHINE))?;
            let start = start_payload(&self.run.id, &plan, &machine)?;
            self.journal.append(kind::START, &start)?;
        }
        let session = Session {
            pid: std::process::id(),
            cut_bytes: self.cut_bytes,
            items_before: self.done.len() as u64,
        };
        self.journal.append(kind::RESUMED, &readable(&session)?)
    }

    /// The run's id.
    pub fn id(&self) -> &str {
        &self.run.id
    }

    /// The run's directory.
    pub fn path(&self) -> &Path {
        &self.run.path
    }

    /// Bytes of a torn tail that were cut off when the run was resumed.
    pub fn cut_bytes(&self) -> u64 {
        self.cut_bytes
    }

    /// The items of the plan that are still to do, in order.
    pub fn missing(&self) -> Vec<u64> {
        self.planned.difference(&self.done).copied().collect()
    }

    /// Records one item of the plan. When this returns, the item is on the disk; if it fails or
    /// never returns, the item is wholly there or not at all, and this writer writes no more.
    pub fn append_item(&mut self, entry: &ItemEntry) -> Result<(), StoreError> {
        let item = entry.item;
        if self.sealed {
            return Err(StoreError::Sealed(self.run.id.clone()));
        }
        if !self.planned.contains(&item) {
            return Err(StoreError::NotPlanned { run: self.run.id.clone(), item });
        }
        if self.done.contains(&item) {
            return Err(StoreError::Twice { run: self.run.id.clone(), item });
        }
        for record in &entry.records {
            if record.run != self.run.id || record.item != item {
                let (run, item) = (record.run.clone(), record.item);
                return Err(StoreError::Foreign { run, item });
            }
        }
        self.journal.append(kind::ITEM, &readable(entry)?)?;
        self.done.insert(item);
        Ok(())
    }

    /// Records a remark in addition to the items: a fault of the machine, a signal to stop.
    pub fn append_note(&mut self, text: &str) -> Result<(), StoreError> {
        if self.sealed {
            return Err(StoreError::Sealed(self.run.id.clone()));
        }
        self.journal.append(kind::NOTE, &readable(&text.to_owned())?)
    }

    /// Records a race or a comparison of programs. When this returns, it is on the disk.
    pub fn append_program(&mut self, entry: &ProgramEntry) -> Result<(), StoreError> {
        if self.sealed {
            return Err(StoreError::Sealed(self.run.id.clone()));
        }
        self.journal.append(kind::PROGRAM, &readable(entry)?)
    }

    /// Closes a complete run: writes its records, its slices and the hashes of all its files.
    /// Sealing a sealed run again changes nothing.
    pub fn seal(&mut self) -> Result<Seal, StoreError> {
        if self.journal.stopped {
            return Err(StoreError::Stopped(self.run.id.clone()));
        }
        let missing = self.missing().len();
        if missing > 0 {
            return Err(StoreError::Incomplete { run: self.run.id.clone(), missing });
        }
        let seal = seal::write(&self.run)?;
        self.sealed = true;
        Ok(seal)
    }
}

/// The journal's first frame for a new run.
pub(crate) fn first_frame(id: &str, plan: &[u8], machine: &[u8]) -> Result<Vec<u8>, StoreError> {
    Ok(frame::encode(kind::START, 0, Link::default(), &start_payload(id, plan, machine)?))
}

fn start_payload(id: &str, plan: &[u8], machine: &[u8]) -> Result<Vec<u8>, StoreError> {
    readable(&Start {
        format: FORMAT_VERSION,
        run: id.to_owned(),
        plan: hash_of(plan),
        machine: hash_of(machine),
        pid: std::process::id(),
    })
}

/// JSON that is known to read back: a number that is not finite would be written as `null`, and
/// an entry that was acknowledged must never turn out to be unreadable.
pub(crate) fn readable<T: Serialize + DeserializeOwned>(value: &T) -> Result<Vec<u8>, StoreError> {
    let unreadable = |error: serde_json::Error| StoreError::Unreadable(error.to_string());
    let bytes = serde_json::to_vec(value).map_err(unreadable)?;
    serde_json::from_slice::<T>(&bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// The process that writes the journal, according to its last session.
fn writing_pid(file: &File, path: &Path) -> Option<u32> {
    Contents::read(file, path).ok()?.sessions.last().map(|session| session.pid)
}
