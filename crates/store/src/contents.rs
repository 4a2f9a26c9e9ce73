//! A journal's bytes as entries: every check that needs no other file.

use crate::entry::{ItemEntry, Session, Start, kind};
use crate::frame::{self, Link};
use crate::{StoreError, durable};
use proofmark_schema::FORMAT_VERSION;
use proofmark_schema::program::ProgramEntry;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

/// Greatest length of a journal; nothing is appended that could not be read again.
pub(crate) const JOURNAL_LIMIT: u64 = 8 << 30;

/// What a journal says, up to its torn tail if it has one.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Missing only where the tail was torn before the first frame ended.
    pub(crate) start: Option<Start>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) items: Vec<ItemEntry>,
    pub(crate) notes: Vec<String>,
    pub(crate) programs: Vec<ProgramEntry>,
    /// Length of the part that holds.
    pub(crate) end: u64,
    /// Length of the part that does not.
    pub(crate) torn_bytes: u64,
    /// What the next frame must carry.
    pub(crate) sequence: u64,
    pub(crate) link: Link,
}

impl Contents {
    /// Reads and judges an open journal.
    pub(crate) fn read(file: &File, path: &Path) -> Result<Contents, StoreError> {
        Contents::judge(&durable::read_whole(file, path, JOURNAL_LIMIT)?, path)
    }

    /// Judges a journal's bytes; the path is only for messages.
    pub(crate) fn judge(bytes: &[u8], path: &Path) -> Result<Contents, StoreError> {
        let scan = frame::scan(bytes)
            .map_err(|damage| StoreError::damaged(path, damage.offset as u64, damage.reason))?;
        let mut contents = Contents {
            end: scan.end as u64,
            torn_bytes: (bytes.len() - scan.end) as u64,
            sequence: scan.frames.len() as u64,
            link: scan.link,
            ..Contents::default()
        };
        let mut known = BTreeSet::new();
        for (index, frame) in scan.frames.iter().enumerate() {
            let offset = frame.offset as u64;
            let payload = &bytes[frame.payload.clone()];
            match (index, frame.kind) {
                (0, kind::START) => {
                    let start: Start = parse(payload, path, offset)?;
                    contents.begin(start, path)?;
                }
                (1.., kind::RESUMED) => contents.sessions.push(parse(payload, path, offset)?),
                (1.., kind::NOTE) => contents.notes.push(parse(payload, path, offset)?),
                (1.., kind::PROGRAM) => contents.programs.push(parse(payload, path, offset)?),
                (1.., kind::ITEM) => {
                    let entry: ItemEntry = parse(payload, path, offset)?;
                    if !known.insert(entry.item) {
                        let reason = format!("item {} is recorded twice", entry.item);
                        return Err(StoreError::damaged(path, offset, reason));
                    }
                    contents.items.push(entry);
                }
                _ => return Err(StoreError::damaged(path, offset, "a frame of no known kind")),
            }
        }
        Ok(contents)
    }

    fn begin(&mut self, start: Start, path: &Path) -> Result<(), StoreError> {
        if start.format > FORMAT_VERSION {
            return Err(StoreError::Newer { file: path.to_owned(), format: start.format });
        }
        self.sessions.push(Session { pid: start.pid, cut_bytes: 0, items_before: 0 });
        self.start = Some(start);
        Ok(())
    }
}

fn parse<T: DeserializeOwned>(payload: &[u8], path: &Path, offset: u64) -> Result<T, StoreError> {
    serde_json::from_slice(payload)
        .map_err(|error| StoreError::damaged(path, offset, error.to_string()))
}
