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
        });
    }
    let names = peer.system_names().iter();
    let mut places = names
        .flat_map(|name| SYSTEM_FOLDERS.iter().map(move |folder| Path::new(folder).join(name)));
    let library = places.find(|place| place.is_file())?;
    Some(Found { version: None, place: None, library, python: None })
}

/// Whether a peer is there, and if not, what to do.
pub fn status(peer: &dyn Peer, shelf: &PeerShelf) -> Status {
    find(peer, shelf).map_or_else(|| Status::Absent(hint(peer)), Status::Ready)
}

fn hint(peer: &dyn Peer) -> String {
    match peer.source() {
        Source::System { debian } => format!("install the system's package, `{debian}` on Debian"),
        _ => format!("proofmark peers add {}", peer.shelved_as()),
    }
}
