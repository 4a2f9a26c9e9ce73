//! The seal of a complete run: derived files, and a hash of every file.

use crate::contents::Contents;
use crate::durable;
use crate::entry::ItemEntry;
use crate::run::{RunPath, file};
use crate::{SliceGroup, StoreError, slices};
use proofmark_schema::FORMAT_VERSION;
use proofmark_schema::race::Race;
use proofmark_schema::record::Record;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// What `seal.json` says of a complete run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// Format version.
    pub format: u32,
    /// The run.
    pub run: String,
    /// Items it recorded.
    pub items: u64,
    /// Records it holds.
    pub records: u64,
    /// BLAKE3 of each of its files, by name.
    pub files: BTreeMap<String, String>,
}

/// A file that is not as it was sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its name.
    pub file: String,
    /// What is wrong with it.
    pub reason: String,
}

/// What a check of a run's files found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// The run.
    pub run: String,
    /// Whether it is sealed; an unsealed run has fewer hashes to hold it to.
    pub sealed: bool,
    /// Files that are damaged, missing or changed.
    pub damaged: Vec<Damage>,
}

impl Verification {
    /// Adds a file that is not as it should be.
    fn note(&mut self, file: &str, reason: String) {
        self.damaged.push(Damage { file: file.to_owned(), reason });
    }

    /// Whether every file is as it was written.
    pub fn is_intact(&self) -> bool {
        self.damaged.is_empty()
    }
}

/// The files that a seal covers.
const SEALED: [&str; 5] = [file::PLAN, file::MACHINE, file::JOURNAL, file::RECORDS, file::SLICES];

impl Seal {
    /// Its only form on the disk.
    pub(crate) fn text(&self) -> Result<Vec<u8>, StoreError> {
        serde_json::to_vec_pretty(self).map_err(|error| StoreError::Unreadable(error.to_string()))
    }

    /// Whether the journal still holds what was sealed.
    pub(crate) fn check_counts(&self, run: &RunPath, journal: &Contents) -> Result<(), StoreError> {
        let path = run.file(file::SEAL);
        if self.format > FORMAT_VERSION {
            return Err(StoreError::Newer { file: path, format: self.format });
        }
        if self.run != run.id {
            return Err(StoreError::damaged(&path, 0, "it is the seal of another run"));
        }
        let records = journal.items.iter().map(|entry| entry.records.len() as u64).sum::<u64>();
        let held = (journal.items.len() as u64, records, journal.torn_bytes);
        if held != (self.items, self.records, 0) {
            let reason = format!(
                "{} items and {} records were sealed; {} and {} are left",
                self.items, self.records, held.0, held.1
            );
            return Err(StoreError::damaged(&run.file(file::JOURNAL), journal.end, reason));
        }
        Ok(())
    }
}

/// Writes the derived files and then the seal; doing it again writes the same bytes.
pub(crate) fn write(run: &RunPath) -> Result<Seal, StoreError> {
    let journal = run.file(file::JOURNAL);
    let contents = Contents::read(&durable::open_plain(&journal, OFlags::RDONLY)?, &journal)?;
    let mut items = contents.items;
    // A resumed run is read in the order of its plan, not of its interruptions.
    items.sort_by_key(|entry| entry.item);
    // This writer has exclusive access to the run, so unfinished files were left by a dead one.
    durable::sweep(&run.path, |_| true);
    durable::replace(&run.path, file::RECORDS, &record_lines(&items)?)?;
    durable::replace(&run.path, file::SLICES, &slices::encode(&items))?;
    let mut files = BTreeMap::new();
    for name in SEALED {
        files.insert(name.to_owned(), hash_file(&run.file(name))?);
    }
    let seal = Seal {
        format: FORMAT_VERSION,
        run: run.id.clone(),
        items: items.len() as u64,
        records: items.iter().map(|entry| entry.records.len() as u64).sum(),
        files,
    };
    durable::replace(&run.path, file::SEAL, &seal.text()?)?;
    Ok(seal)
}

fn record_lines(items: &[ItemEntry]) -> Result<Vec<u8>, StoreError> {
    let mut lines = Vec::new();
    for record in items.iter().flat_map(|entry| &entry.records) {
        serde_json::to_writer(&mut lines, record)
            .map_err(|error| StoreError::Unreadable(error.to_string()))?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// The hash of a file of any length, without holding it in memory.
fn hash_file(path: &Path) -> Result<String, StoreError> {
    let file = durable::open_plain(path, OFlags::RDONLY)?;
    let mut hasher = blake3::Hasher::new();
    io::copy(&mut &file, &mut hasher).map_err(StoreError::io("read", path))?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// The check of every byte in the folder of a run that should be sealed: what [`verify`] finds,
/// files that are no part of the run, and derived files that do not say what the journal says.
pub(crate) fn verify_whole(run: &RunPath) -> Result<Verification, StoreError> {
    let mut found = verify(run)?;
    if !found.sealed && found.is_intact() {
        let reason = "there is none: the run was not finished, or its seal was removed";
        found.note(file::SEAL, reason.to_owned());
    }
    for name in strangers(run)? {
        found.note(&name, "it is no part of the run".to_owned());
    }
    if found.is_intact() {
        for (name, is_derived) in
            [(file::RECORDS, has_records(run)?), (file::SLICES, has_slices(run)?)]
        {
            if !is_derived {
                found.note(name, "it does not say what the journal says".to_owned());
            }
        }
    }
    Ok(found)
}

/// The names of files in a run's folder that are no part of a run.
fn strangers(run: &RunPath) -> Result<Vec<String>, StoreError> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&run.path).map_err(StoreError::io("list", &run.path))? {
        let entry = entry.map_err(StoreError::io("list", &run.path))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != file::SEAL && !SEALED.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// The items of a journal in the order of the plan, as derived files have them.
fn items_of(run: &RunPath) -> Result<Vec<ItemEntry>, StoreError> {
    let path = run.file(file::JOURNAL);
    let mut items = Contents::read(&durable::open_plain(&path, OFlags::RDONLY)?, &path)?.items;
    items.sort_by_key(|entry| entry.item);
    Ok(items)
}

/// Whether the records next to a journal are those in it. Versions write the same record with more
/// or fewer members, so both are written by this one before they are compared.
fn has_records(run: &RunPath) -> Result<bool, StoreError> {
    let path = run.file(file::RECORDS);
    let mut beside = Vec::new();
    for line in durable::read_file(&path)?.split_inclusive(|&byte| byte == b'\n') {
        let Ok(record) = serde_json::from_slice::<Record>(line) else { return Ok(false) };
        serde_json::to_writer(&mut beside, &record)
            .map_err(|error| StoreError::Unreadable(error.to_string()))?;
        beside.push(b'\n');
    }
    Ok(beside == record_lines(&items_of(run)?)?)
}

/// Whether the slices next to a journal are those of its races.
fn has_slices(run: &RunPath) -> Result<bool, StoreError> {
    let Ok(groups) = slices::read_slices(&run.file(file::SLICES)) else { return Ok(false) };
    let items = items_of(run)?;
    let races = items.iter().filter_map(|entry| Some((entry.item, entry.race.as_ref()?)));
    let of_race = |(item, race): (u64, &Race)| SliceGroup {
        item,
        slices: race.slices.clone(),
        readings: race.readings.clone(),
    };
    Ok(groups.into_iter().eq(races.map(of_race)))
}

/// Reads everything again and lists what is not as it was written.
pub(crate) fn verify(run: &RunPath) -> Result<Verification, StoreError> {
    let mut damaged = Vec::new();
    let mut note = |file: &str, reason: String| {
        damaged.push(Damage { file: file.to_owned(), reason });
    };
    let seal = match run.seal() {
        Ok(seal) => seal,
        Err(error @ StoreError::Damaged { .. }) => {
            note(file::SEAL, error.to_string());
            None
        }
        Err(error) => return Err(error),
    };
    for name in SEALED {
        let Some(seal) = &seal else { break };
        match (hash_file(&run.file(name)), seal.files.get(name)) {
            (Ok(found), Some(sealed)) if found == *sealed => {}
            (Ok(_), Some(_)) => note(name, "it has changed since it was sealed".to_owned()),
            (Ok(_), None) => note(file::SEAL, format!("it does not name {name}")),
            (Err(error), _) => note(name, error.to_string()),
        }
    }
    if let Some(seal) = &seal
        && damaged.is_empty()
    {
        let mut refuse = |reason: &str| {
            damaged.push(Damage { file: file::SEAL.to_owned(), reason: reason.to_owned() });
        };
        if seal.files.len() != SEALED.len() {
            refuse("it names more files than a run has");
        }
        // Both were written by one version, at one moment.
        if slices::format_of(&run.file(file::SLICES))? != Some(seal.format) {
            refuse("its format is not that of the slices");
        }
    }
    if damaged.is_empty()
        && let Err(error) = run.read()
    {
        let (StoreError::Damaged { file, .. } | StoreError::Io { path: file, .. }) = &error else {
            return Err(error);
        };
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        damaged.push(Damage { file: name, reason: error.to_string() });
    }
    Ok(Verification { run: run.id.clone(), sealed: seal.is_some(), damaged })
}
