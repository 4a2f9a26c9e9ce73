//! A folder in which a sandboxed process may write.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is removed with this value.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes a private folder, which belongs to another user if one is given.
    pub(crate) fn make(owner: Option<u32>) -> io::Result<Scratch> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        clear_dead();
        // A name that is taken is an error: the folder may be somebody else's.
        let folder = std::env::temp_dir().join(name);
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let made = Scratch(folder);
        if owner.is_some() {
            chown(&made.0, owner, owner)?;
        }
        Ok(made)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed stays in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The beginning of the folders' names; the number of the process follows.
const PREFIX: &str = "proofmark-scratch-";

/// Removes the folders of this process.
pub fn clear_scratch() {
    let own = std::process::id();
    clear(|process| process == own);
}

/// Removes the folders of processes that have ended without removing them.
fn clear_dead() {
    clear(|process| !Path::new(&format!("/proc/{process}")).exists());
}

fn clear(is_meant: impl Fn(u32) -> bool) {
    let folders = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    for folder in folders {
        let name = folder.file_name();
        let process = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok());
        if process.is_some_and(&is_meant) {
            // Another user's folder cannot be removed, and need not be.
            let _ = fs::remove_dir_all(folder.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_value() {
        let scratch = Scratch::make(None).unwrap();
        let path = scratch.path().to_owned();
        fs::write(path.join("x"), "1").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }
}
