//! Files that are wholly there or not at all, and reads that trust nothing.

use crate::StoreError;
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Greatest length of a file other than the journal that is read whole.
pub(crate) const FILE_LIMIT: u64 = 1 << 30;

/// Opens a plain file; links are not followed and a pipe does not block.
pub(crate) fn open_plain(path: &Path, flags: OFlags) -> Result<File, StoreError> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file: File = rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))
        .map_err(io::Error::from)
        .map_err(StoreError::io("open", path))?
        .into();
    let facts = file.metadata().map_err(StoreError::io("examine", path))?;
    if !facts.is_file() {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "not a plain file");
        return Err(StoreError::io("open", path)(source));
    }
    Ok(file)
}

/// The bytes of an open file, refused if they are more than the limit.
pub(crate) fn read_whole(file: &File, path: &Path, limit: u64) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    // One byte more than the limit tells a file that grows while it is read from one that fits.
    file.take(limit + 1).read_to_end(&mut bytes).map_err(StoreError::io("read", path))?;
    if bytes.len() as u64 > limit {
        return Err(StoreError::TooLarge { bytes: bytes.len() as u64, limit });
    }
    Ok(bytes)
}

/// The bytes of a plain file.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, StoreError> {
    read_whole(&open_plain(path, OFlags::RDONLY)?, path, FILE_LIMIT)
}

/// The bytes of a plain file, or `None` if there is no such file.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match read_file(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(path: &Path) -> Result<(), StoreError> {
    let directory = File::open(path).map_err(StoreError::io("open", path))?;
    rustix::fs::fsync(&directory).map_err(io::Error::from).map_err(StoreError::io("sync", path))
}

/// Writes a new file and makes its bytes durable; its name is not yet.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> Result<File, StoreError> {
    let mut file = open_plain(path, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL)?;
    file.write_all(bytes).map_err(StoreError::io("write", path))?;
    file.sync_all().map_err(StoreError::io("sync", path))?;
    Ok(file)
}

/// Waits until no other writer holds this file, and holds it as long as it stays open: to the end
/// of the process at the most, however that ends.
pub(crate) fn lock(path: &Path) -> Result<File, StoreError> {
    let file = open_plain(path, OFlags::RDWR | OFlags::CREATE)?;
    rustix::io::retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::LockExclusive))
        .map_err(io::Error::from)
        .map_err(StoreError::io("lock", path))?;
    Ok(file)
}

/// Puts a file in place: whoever looks sees the old bytes or the new ones, also after a crash.
pub(crate) fn replace(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let path = directory.join(name);
    let fresh = directory.join(format!(".{name}.new"));
    // Left over from a crash; a lock is held, so nobody else is writing it now.
    match std::fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(StoreError::io("remove", &fresh)(error));
        }
        _ => {}
    }
    write_synced(&fresh, bytes)?;
    std::fs::rename(&fresh, &path).map_err(StoreError::io("rename to", &path))?;
    sync_directory(directory)
}
