//! Files that are written whole or not at all, and reads that do not trust the disk.

use crate::{StoreError, journal};
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

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
    // One byte more than the limit distinguishes a file that grows while it is read from one that
    // fits.
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
///
/// # Errors
/// If it cannot be opened or synced.
pub fn sync_directory(path: &Path) -> Result<(), StoreError> {
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

/// How long a writer waits for another: each holds a lock for milliseconds.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Waits until no other writer holds this file, then holds it as long as it stays open. The lock
/// ends with the process at the latest, even if the process is killed.
pub(crate) fn lock(path: &Path) -> Result<File, StoreError> {
    lock_within(path, LONGEST_WAIT)
}

/// The same with another limit of the wait.
pub(crate) fn lock_within(path: &Path, longest: Duration) -> Result<File, StoreError> {
    let file = open_plain(path, OFlags::RDWR | OFlags::CREATE)?;
    let mut waited = Duration::ZERO;
    // The pause is short at first because locks are; it then grows so that waiting costs no
    // processor time.
    let mut pause = Duration::from_micros(100);
    while !journal::lock(&file).map_err(StoreError::io("lock", path))? {
        if waited >= longest {
            return Err(StoreError::Locked { path: path.to_owned(), seconds: longest.as_secs() });
        }
        std::thread::sleep(pause);
        waited += pause;
        pause = (2 * pause).min(Duration::from_millis(10));
    }
    Ok(file)
}

/// Makes a folder and those above it, each with a durable name.
///
/// # Errors
/// If one cannot be made or synced.
pub fn make_folder(path: &Path) -> Result<(), StoreError> {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.is_dir();
    let missing = path.ancestors().take_while(is_missing).count();
    if missing == 0 {
        return Ok(());
    }
    std::fs::create_dir_all(path).map_err(StoreError::io("make", path))?;
    for parent in path.ancestors().skip(1).take(missing) {
        let is_here = parent.as_os_str().is_empty();
        sync_directory(if is_here { Path::new(".") } else { parent })?;
    }
    Ok(())
}

/// Puts a file in place atomically: a reader sees the old bytes or the new ones, also after a
/// crash.
///
/// Several writers may do so at once, with or without a lock: each writes a file of its own, and
/// the last to rename it wins. A change that depends on the old bytes needs a [`lock`].
pub(crate) fn replace(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    replace_with(directory, name, bytes, FILE_MODE)
}

/// The permissions of a small file.
const FILE_MODE: u32 = 0o644;

/// The same with other permissions.
pub(crate) fn replace_with(
    directory: &Path,
    name: &str,
    bytes: &[u8],
    mode: u32,
) -> Result<(), StoreError> {
    let path = directory.join(name);
    let (fresh, mut file) = create_fresh(directory, name)?;
    let put = || -> Result<File, StoreError> {
        file.write_all(bytes).map_err(StoreError::io("write", &fresh))?;
        if mode != FILE_MODE {
            let mode = std::fs::Permissions::from_mode(mode);
            file.set_permissions(mode).map_err(StoreError::io("mark", &fresh))?;
        }
        file.sync_all().map_err(StoreError::io("sync", &fresh))?;
        std::fs::rename(&fresh, &path).map_err(StoreError::io("rename to", &path))?;
        Ok(file)
    };
    let file = put().inspect_err(|_| {
        // The first error is the one to report; what stays behind is hidden and swept later.
        let _ = std::fs::remove_file(&fresh);
    })?;
    sync_directory(directory)?;
    sweep_once(directory, &file);
    Ok(())
}

/// A file that no other writer has, in this process or another.
fn create_fresh(directory: &Path, name: &str) -> Result<(PathBuf, File), StoreError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let fresh = directory.join(format!(".{name}.{}-{count}.new", std::process::id()));
        match open_plain(&fresh, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL) {
            // Such a file was left by a process with the same id, or is being written by one with
            // the same id in another container, so it is never taken over.
            Err(StoreError::Io { source, .. })
                if source.kind() == io::ErrorKind::AlreadyExists && count < u32::MAX => {}
            made => return Ok((fresh, made?)),
        }
    }
}

/// No write takes this long, so an older unfinished file was left by a writer that died.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);

/// Removes unfinished files that were left in a folder long before `now` was written, once in a
/// process: leftovers are rare, and a folder may be long.
fn sweep_once(directory: &Path, now: &File) {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let is_first = swept.insert(directory.to_owned());
    drop(swept);
    if is_first && let Ok(now) = now.metadata().and_then(|facts| facts.modified()) {
        sweep(directory, |made| now.duration_since(made).is_ok_and(|age| age > LEFT_BEHIND));
    }
}

/// Removes the unfinished files of a folder whose writers are dead, by the time they were
/// written. Whatever fails here does no harm, and is tried again at the next sweep.
pub(crate) fn sweep(directory: &Path, is_dead: impl Fn(SystemTime) -> bool) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours =
            name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(".new"));
        let made = || entry.metadata().ok().filter(|facts| facts.is_file())?.modified().ok();
        if is_ours && made().is_some_and(&is_dead) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
