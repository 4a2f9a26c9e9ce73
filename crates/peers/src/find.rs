//! Whether a peer is on this machine: on the shelf, or with the system's libraries.

use crate::install::below;
use crate::{Peer, PeerShelf, PythonHome, Source};
use proofmark_schema::Lock;
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
    /// Whether it was installed from a lock; none where that is not known.
    pub lock: Option<Lock>,
    /// Interpreter and packages, for Python peers.
    pub python: Option<PythonHome>,
    /// It was declared to compile machine code while it runs.
    pub has_jit: bool,
    /// Other files that decide what it computes and how it is judged.
    pub files: Vec<PathBuf>,
}

impl Found {
    /// The files that make this peer what it is, in order: the library that is opened, the other
    /// libraries of its folder on the shelf, and for Python packages the lists in which the
    /// installer wrote down the hash of every file. Libraries of the system are not its own.
    pub fn own_files(&self) -> Vec<PathBuf> {
        let is_library = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"))
        };
        let mut files: Vec<PathBuf> = match (&self.python, &self.place) {
            (Some(python), _) => python.packages.iter().flat_map(|at| lists_in(at)).collect(),
            (None, Some(place)) => below(place).into_iter().filter(is_library).collect(),
            (None, None) => Vec::new(),
        };
        files.retain(|path| path.is_file());
        files.push(self.library.clone());
        files.extend(self.files.iter().cloned());
        files.sort_unstable();
        files.dedup();
        files
    }
}

/// The file in which an installer of Python packages lists a package's files with their hashes.
const RECORD: &str = "RECORD";

/// The lists of the packages in a folder.
fn lists_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path().join(RECORD)).collect()
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
    if let Some(found) = peer.elsewhere() {
        return found.ok();
    }
    if let Some(shelved) = shelf.read(peer.shelved_as()) {
        return Some(Found {
            version: Some(shelved.version),
            place: Some(shelf.place(peer.shelved_as())),
            library: shelved.library,
            lock: shelved.lock,
            python: shelved.python,
            has_jit: shelved.has_jit,
            files: Vec::new(),
        });
    }
    let names = peer.system_names().iter();
    let mut places = names
        .flat_map(|name| SYSTEM_FOLDERS.iter().map(move |folder| Path::new(folder).join(name)));
    let library = places.find(|place| place.is_file())?;
    Some(Found {
        version: None,
        place: None,
        library,
        lock: None,
        python: None,
        has_jit: false,
        files: Vec::new(),
    })
}

/// Whether a peer is there, and if not, what to do.
pub fn status(peer: &dyn Peer, shelf: &PeerShelf) -> Status {
    find(peer, shelf).map_or_else(|| Status::Absent(hint(peer, shelf)), Status::Ready)
}

fn hint(peer: &dyn Peer, shelf: &PeerShelf) -> String {
    if let Some(Err(hint)) = peer.elsewhere() {
        return hint;
    }
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
    fn own_files_are_those_of_the_peer_and_not_of_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["place/wheels/libx.so.2", "place/wheels/x.py", "lib/libpython.so", "lib/b.so"]
        {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), "").unwrap();
        }
        std::fs::create_dir_all(at("site/x-1.dist-info")).unwrap();
        std::fs::write(at("site/x-1.dist-info/RECORD"), "").unwrap();
        let found = |place: Option<&str>, library: &str, packages: Option<&str>| Found {
            version: None,
            place: place.map(at),
            library: at(library),
            lock: None,
            python: packages.map(|site| PythonHome { prefix: at(""), packages: vec![at(site)] }),
            has_jit: false,
            files: Vec::new(),
        };
        let registered = found(Some("nothing"), "lib/b.so", None).own_files();
        assert_eq!(registered, [at("lib/b.so")]);
        let wheels = found(Some("place"), "lib/b.so", None).own_files();
        assert_eq!(wheels, [at("lib/b.so"), at("place/wheels/libx.so.2")]);
        let python = found(Some("place"), "lib/libpython.so", Some("site")).own_files();
        assert_eq!(python, [at("lib/libpython.so"), at("site/x-1.dist-info/RECORD")]);
    }

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
