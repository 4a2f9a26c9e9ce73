//! Whether a peer is on this machine: on the shelf, or with the system's libraries.

use crate::{Peer, PeerShelf, PythonHome, Source};
use std::path::{Path, PathBuf};

/// Folders in which systems keep shared libraries.
const SYSTEM_FOLDERS: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib64",
    "/usr/local/lib",
    "/opt/intel/oneapi/mkl/latest/lib",
    "/opt/intel/oneapi/dnnl/latest/lib",
];

/// A peer that is on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its version; none where only the library itself can tell.
    pub version: Option<String>,
    /// Its folder on the shelf, if it is there.
    pub place: Option<PathBuf>,
    /// The file to open.
    pub library: PathBuf,
    /// Interpreter and packages, for Python peers.
    pub python: Option<PythonHome>,
    /// It was declared to compile machine code while it runs.
    pub has_jit: bool,
}

/// What can be said of a peer without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It can be raced.
    Ready(Found),
    /// It is not on this machine; the words say how to get it.
    Absent(String),
}

/// Looks for a peer: first on the shelf, then where systems keep libraries.
pub fn find(peer: &dyn Peer, shelf: &PeerShelf) -> Option<Found> {
    if let Some(shelved) = shelf.read(peer.shelved_as()) {
        return Some(Found {
            version: Some(shelved.version),
            place: Some(shelf.place(peer.shelved_as())),
            library: shelved.library,
            python: shelved.python,
            has_jit: shelved.has_jit,
        });
    }
    let names = peer.system_names().iter();
    let mut places = names
        .flat_map(|name| SYSTEM_FOLDERS.iter().map(move |folder| Path::new(folder).join(name)));
    let library = places.find(|place| place.is_file())?;
    Some(Found { version: None, place: None, library, python: None, has_jit: false })
}

/// Whether a peer is there, and if not, what to do.
pub fn status(peer: &dyn Peer, shelf: &PeerShelf) -> Status {
    find(peer, shelf).map_or_else(|| Status::Absent(hint(peer, shelf)), Status::Ready)
}

fn hint(peer: &dyn Peer, shelf: &PeerShelf) -> String {
    let name = peer.shelved_as();
    if let Some(shelved) = shelf.note(name) {
        let from = if matches!(peer.source(), Source::Registered) { " --from FILE" } else { "" };
        return format!(
            "its file {} is gone: put it back, or proofmark peers add {name}{from}, or proofmark \
             peers remove {name}",
            shelved.library.display()
        );
    }
    match peer.source() {
        Source::System { debian } => format!("install the system's package, `{debian}` on Debian"),
        _ => format!("proofmark peers add {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{all, by_name, register};

    #[test]
    fn a_registered_library_that_is_gone_is_told_and_not_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = PeerShelf::new(folder.path().join("shelf"));
        let library = folder.path().join("libacme.so");
        std::fs::write(&library, "").unwrap();
        register(&shelf, "acme", &library, false).unwrap();
        assert!(matches!(status(by_name(&shelf, "acme").unwrap(), &shelf), Status::Ready(_)));
        std::fs::remove_file(&library).unwrap();
        assert!(all(&shelf).iter().any(|peer| peer.name() == "acme"));
        let Status::Absent(hint) = status(by_name(&shelf, "acme").unwrap(), &shelf) else {
            panic!("its library is gone");
        };
        for words in ["libacme.so is gone", "add acme --from", "remove acme"] {
            assert!(hint.contains(words), "{hint}");
        }
    }
}
