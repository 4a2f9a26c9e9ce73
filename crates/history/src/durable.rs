//! Creating a file in a folder so that it is there after a power cut, whole, and only if no file
//! of that name was there.
//!
//! `object_store` creates files in the same way up to version 0.13, but syncs neither the file nor
//! its folder; version 0.14 can. The query engine still needs 0.13.

use crate::HistoryError;
use proofmark_store::durable::{make_folder, sync_directory};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Unfinished files are here, on the same file system as the rest.
pub(crate) const STAGING: &str = "_staging";

/// Whether a file was created, or one of that name was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Created {
    /// It was created, and is durable.
    New,
    /// A file of that name is there; it was left alone.
    Present,
}

/// Creates `name` below `root` with these bytes.
pub(crate) fn create(root: &Path, name: &str, bytes: &[u8]) -> Result<Created, HistoryError> {
    let path = root.join(name);
    let folder = path.parent().unwrap_or(root);
    let staging = root.join(STAGING);
    make_folder(&staging)?;
    make_folder(folder)?;
    let staged = staging.join(uuid::Uuid::new_v4().simple().to_string());
    let made = stage(&staged, bytes).and_then(|()| link(&staged, &path));
    // A file that is left here by a process that dies is removed by `history compact`.
    let _ = fs::remove_file(&staged);
    let created = made?;
    // Also if the file was there: the process that created it may not have synced the folder yet,
    // and a caller that learns that the file is there must be able to rely on it.
    sync_directory(folder)?;
    Ok(created)
}

fn stage(path: &Path, bytes: &[u8]) -> Result<(), HistoryError> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(HistoryError::io("create", path))?;
    file.write_all(bytes).map_err(HistoryError::io("write", path))?;
    file.sync_all().map_err(HistoryError::io("sync", path))
}

/// Gives the staged file its name, unless the name is taken.
fn link(staged: &Path, path: &Path) -> Result<Created, HistoryError> {
    let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
    match fs::hard_link(staged, path) {
        Ok(()) => Ok(Created::New),
        Err(error) if is_taken(&error) => Ok(Created::Present),
        // Some file systems have no hard links; those have a rename that does not replace.
        Err(error) => {
            let renamed = renameat_with(CWD, staged, CWD, path, RenameFlags::NOREPLACE);
            match renamed.map_err(io::Error::from) {
                Ok(()) => Ok(Created::New),
                Err(again) if is_taken(&again) => Ok(Created::Present),
                Err(_) => Err(HistoryError::io("create", path)(error)),
            }
        }
    }
}

/// Removes unfinished files of writers that are dead for certain: older than a day.
pub(crate) fn sweep(root: &Path, now: std::time::SystemTime) -> usize {
    let day = std::time::Duration::from_secs(86_400);
    let entries = fs::read_dir(root.join(STAGING)).into_iter().flatten().flatten();
    let is_old = |entry: &fs::DirEntry| {
        let written = entry.metadata().and_then(|facts| facts.modified());
        written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age > day))
    };
    entries.filter(is_old).filter(|entry| fs::remove_file(entry.path()).is_ok()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_created_once_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("deep/place");
        assert_eq!(create(&root, "a/b/c", b"first").unwrap(), Created::New);
        assert_eq!(create(&root, "a/b/c", b"second").unwrap(), Created::Present);
        assert_eq!(fs::read(root.join("a/b/c")).unwrap(), b"first");
        assert_eq!(fs::read_dir(root.join(STAGING)).unwrap().count(), 0);
    }

    #[test]
    fn only_old_leftovers_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        create(folder.path(), "x", b"").unwrap();
        let left = folder.path().join(STAGING).join("left");
        fs::write(&left, b"half").unwrap();
        let written = fs::metadata(&left).unwrap().modified().unwrap();
        let hours = |hours: u64| written + std::time::Duration::from_secs(3600 * hours);
        assert_eq!(sweep(folder.path(), hours(23)), 0);
        assert_eq!(sweep(folder.path(), hours(25)), 1);
        assert!(!left.exists());
    }
}
