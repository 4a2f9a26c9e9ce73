//! The folder where peers are kept, and what is written down about each.

use crate::Peer;
use proofmark_schema::device::HOST;
use proofmark_schema::{Lock, is_peer_name};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The name of the note in a peer's folder. It is written last: without it a folder is rubbish.
const NOTE: &str = "peer.json";

/// A folder with a folder for each peer, and the kernels that are elsewhere: those of the user's
/// own ops and of other devices.
#[derive(Clone)]
pub struct PeerShelf {
    folder: PathBuf,
    own: Vec<&'static dyn Peer>,
    /// Patterns of the devices whose contenders may enter.
    devices: Vec<String>,
}

impl fmt::Debug for PeerShelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own: Vec<String> = self.own.iter().map(|peer| peer.id().to_string()).collect();
        f.debug_struct("PeerShelf").field("folder", &self.folder).field("own", &own).finish()
    }
}

/// A peer on the shelf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shelved {
    /// The version of what was installed.
    pub version: String,
    /// The file to open: the library, the plug-in, or the interpreter's library.
    pub library: PathBuf,
    /// Whether it was installed from a lock; none if it was registered, and in notes that are older
    /// than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Lock>,
    /// The interpreter and its packages, for Python peers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<PythonHome>,
    /// It was declared to compile machine code while it runs, which the sandbox refuses otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_jit: bool,
}

/// An interpreter with the packages of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonHome {
    /// Where the interpreter's own library of modules is installed.
    pub prefix: PathBuf,
    /// Folders of packages, in order.
    pub packages: Vec<PathBuf>,
}

impl PeerShelf {
    /// The shelf in a folder, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> PeerShelf {
        PeerShelf { folder: folder.into(), own: Vec::new(), devices: vec![HOST.to_owned()] }
    }

    /// This shelf with kernels that are on no shelf: those of the user, or of another device.
    #[must_use]
    pub fn with_own(mut self, own: Vec<&'static dyn Peer>) -> PeerShelf {
        self.own.extend(own);
        self
    }

    /// This shelf for contenders on these devices only: patterns separated by blanks or commas.
    #[must_use]
    pub fn on(mut self, devices: &str) -> PeerShelf {
        let patterns = devices.split([' ', ',']).filter(|pattern| !pattern.is_empty());
        self.devices = patterns.map(str::to_owned).collect();
        self
    }

    /// The patterns of the devices whose contenders may enter.
    pub fn devices(&self) -> &[String] {
        &self.devices
    }

    /// The kernels of the user's own ops and of other devices.
    pub fn own(&self) -> &[&'static dyn Peer] {
        &self.own
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of one peer.
    pub fn place(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The folder of one peer, below this one and nowhere else.
    fn named(&self, name: &str) -> io::Result<PathBuf> {
        let refused = || {
            let words = format!(
                "`{name}` is no name: write letters, digits and `._+-`, and a version behind `@`"
            );
            io::Error::new(io::ErrorKind::InvalidInput, words)
        };
        is_peer_name(name).then(|| self.place(name)).ok_or_else(refused)
    }

    /// What is written down about a peer; none if it is not there, or was never finished.
    pub fn read(&self, name: &str) -> Option<Shelved> {
        self.note(name).filter(|shelved| shelved.library.is_file())
    }

    /// The same, also where the library has gone since.
    pub(crate) fn note(&self, name: &str) -> Option<Shelved> {
        let text = fs::read(self.named(name).ok()?.join(NOTE)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// The names of the folders, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            folders.filter_map(|folder| folder.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Writes the note that makes a peer's folder count.
    pub(crate) fn write(&self, name: &str, shelved: &Shelved) -> io::Result<()> {
        let folder = self.named(name)?;
        fs::create_dir_all(&folder)?;
        let text = serde_json::to_vec_pretty(shelved)?;
        fs::write(folder.join("peer.json.new"), text)?;
        fs::rename(folder.join("peer.json.new"), folder.join(NOTE))
    }

    /// Removes a peer's folder; whether there was one.
    pub(crate) fn clear(&self, name: &str) -> io::Result<bool> {
        match fs::remove_dir_all(self.named(name)?) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_of_the_shelf_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = PeerShelf::new(folder.path().join("shelf"));
        fs::create_dir(shelf.folder()).unwrap();
        fs::write(folder.path().join("kept"), "").unwrap();
        for name in ["", ".", "..", "../shelf", "a/../..", "/", "a@..", "a@/", "@1"] {
            assert!(shelf.clear(name).is_err(), "{name}");
            let library = folder.path().join("kept");
            let shelved = Shelved {
                version: String::new(),
                library,
                lock: None,
                python: None,
                has_jit: false,
            };
            assert!(shelf.write(name, &shelved).is_err(), "{name}");
        }
        assert!(shelf.folder().is_dir() && folder.path().join("kept").is_file());
    }

    #[test]
    fn a_folder_counts_only_with_its_note_and_library() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = PeerShelf::new(folder.path());
        assert_eq!(shelf.read("blas"), None);
        let library = folder.path().join("libblas.so");
        let version = "1.2".to_owned();
        let lock = Some(Lock::Unlocked);
        let shelved =
            Shelved { version, library: library.clone(), lock, python: None, has_jit: false };
        shelf.write("blas", &shelved).unwrap();
        assert_eq!(shelf.read("blas"), None, "the library is not there");
        fs::write(&library, "").unwrap();
        assert_eq!(shelf.read("blas"), Some(shelved));
        assert!(shelf.clear("blas").unwrap());
        assert_eq!(shelf.read("blas"), None);
        assert!(!shelf.clear("blas").unwrap());
    }
}
