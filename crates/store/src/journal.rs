//! The writing end of a journal: one write, one sync, then the acknowledgement.

use crate::StoreError;
use crate::contents::JOURNAL_LIMIT;
use crate::frame::{self, HEADER_BYTES, Link, PAYLOAD_LIMIT};
use rustix::fs::FlockOperation;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// The three things a journal does to its file, so that tests can make each of them fail.
pub(crate) trait JournalFile: Send {
    /// Appends all the bytes.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes what was appended durable.
    fn sync(&mut self) -> io::Result<()>;
    /// Shortens the file to this length.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl JournalFile for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// Takes the journal for this writer alone; `false` if another writer has it. The lock ends with
/// the file and so with the process, even if the process is killed.
pub(crate) fn lock(file: &File) -> io::Result<bool> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A journal that is being written.
pub(crate) struct Journal {
    pub(crate) file: Box<dyn JournalFile>,
    pub(crate) path: PathBuf,
    pub(crate) run: String,
    /// Length of the acknowledged part.
    pub(crate) end: u64,
    pub(crate) sequence: u64,
    pub(crate) link: Link,
    /// Set by the first failure. After a failed sync the state of the disk is unknown, and a second
    /// sync that succeeds would prove nothing.
    pub(crate) stopped: bool,
}

impl Journal {
    /// Appends one frame; when this returns, the frame is on the disk.
    pub(crate) fn append(&mut self, kind: u8, payload: &[u8]) -> Result<(), StoreError> {
        if self.stopped {
            return Err(StoreError::Stopped(self.run.clone()));
        }
        check_length(payload.len(), PAYLOAD_LIMIT as u64)?;
        let end = self.end + (HEADER_BYTES + payload.len()) as u64;
        if end > JOURNAL_LIMIT {
            return Err(StoreError::TooLarge { bytes: end, limit: JOURNAL_LIMIT });
        }
        let frame = frame::encode(kind, self.sequence, self.link, payload);
        if let Err((action, source)) = self.put(&frame) {
            self.stopped = true;
            // Bytes that were not acknowledged should not be found again. If this fails too, a
            // resume cuts a torn frame, and counts a whole one as done, which it is.
            let _ = self.file.cut(self.end);
            return Err(StoreError::io(action, &self.path)(source));
        }
        self.end = end;
        self.sequence += 1;
        self.link = frame::link_of(&frame);
        Ok(())
    }

    fn put(&mut self, frame: &[u8]) -> Result<(), (&'static str, io::Error)> {
        self.file.append(frame).map_err(|error| ("append to", error))?;
        self.file.sync().map_err(|error| ("sync", error))
    }

    /// Cuts off a torn tail, durably.
    pub(crate) fn cut_tail(&mut self) -> Result<(), StoreError> {
        self.file.cut(self.end).map_err(StoreError::io("cut the torn tail of", &self.path))?;
        self.file.sync().map_err(StoreError::io("sync", &self.path))
    }
}

fn check_length(bytes: usize, limit: u64) -> Result<(), StoreError> {
    let bytes = bytes as u64;
    if bytes > limit { Err(StoreError::TooLarge { bytes, limit }) } else { Ok(()) }
}
