//! The sandbox of a run: which level its contenders need, and what each may do in it.

use crate::{EngineError, PeerShelf};
use proofmark_arena::{Arena, Permit, Regime, missing_layers};
use proofmark_peers::{Found, Needs};
use proofmark_schema::{Cache, ContenderId, Family, Isolation};
use proofmark_worker::corpus::CORPUS;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The most libraries in the folder of a plug-in that it may read.
const BESIDE: usize = 256;

/// The rules for all peers on a shelf. A level that is not stated follows from the contenders of
/// each run.
pub fn regime(
    level: Option<Isolation>,
    environment: Vec<(OsString, OsString)>,
    shelf: &PeerShelf,
) -> Regime {
    let mut permits = BTreeMap::new();
    let mut strangers = BTreeSet::new();
    for peer in proofmark_peers::all(shelf) {
        let Some(found) = proofmark_peers::find(peer, shelf) else { continue };
        let is_stranger = is_stranger(&found, shelf);
        let permit = permit(&found, peer.needs(), is_stranger);
        // Kernels of two ops may have one name; the sandbox then lets both do what either needs.
        permits
            .entry(peer.id().to_string())
            .and_modify(|known: &mut Permit| known.join(&permit))
            .or_insert_with(|| permit.clone());
        if peer.family() == Family::OpenCl {
            // Specimens that wrap kernels of a device may do what these kernels may do.
            for specimen in CORPUS.iter().filter(|one| one.is_on_device) {
                let id = ContenderId::planted(specimen.name, None);
                permits.entry(id.to_string()).or_insert_with(|| permit.clone());
            }
        }
        if is_stranger && peer.family() == Family::Peer {
            strangers.insert(peer.name().to_owned());
        }
    }
    Regime { level: level.unwrap_or_default(), environment, permits, strangers }
}

/// Whether a peer is a library that the user registered, and not a version that this tool installs
/// or that the system has.
fn is_stranger(found: &Found, shelf: &PeerShelf) -> bool {
    found.place.is_some() && found.python.is_none() && !found.library.starts_with(shelf.folder())
}

fn permit(found: &Found, needs: Needs, is_stranger: bool) -> Permit {
    let mut reads: Vec<PathBuf> = found.place.iter().cloned().collect();
    reads.push(found.library.clone());
    // The op of a kernel may be defined in another folder.
    reads.extend(found.files.iter().cloned());
    let folder = found.library.parent().unwrap_or(Path::new("/"));
    match (&found.python, is_stranger) {
        (Some(python), _) => {
            // A compiler is given the interpreter's headers, and starts it again.
            let part = if needs.compiler { "" } else { "lib" };
            reads.push(python.prefix.join(part));
            reads.extend(python.packages.iter().cloned());
        }
        // The library has no reason to read other files of that folder.
        (None, true) => reads.extend(libraries_in(folder)),
        (None, false) => reads.push(folder.to_owned()),
    }
    Permit {
        reads,
        has_jit: needs.jit || found.has_jit,
        is_interpreter: needs.interpreter,
        // A compiler must write its output.
        needs_scratch: needs.interpreter || needs.compiler,
        has_compiler: needs.compiler,
    }
}

/// Shared libraries in a folder.
fn libraries_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_library = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"))
    };
    files.map(|file| file.path()).filter(is_library).take(BESIDE)
}

/// The arena at the level that these contenders need if they are judged together.
///
/// # Errors
/// If that is a sandbox, and this machine lacks a layer of it.
pub(crate) fn isolated<'c>(
    arena: &Arena,
    contenders: impl IntoIterator<Item = &'c ContenderId>,
) -> Result<Arena, EngineError> {
    at(arena, arena.regime().for_field(contenders))
}

/// Checks that a level can measure in a state of the caches. Where every call has operands of its
/// own, the caches hold none of them.
pub(crate) fn check_cache(arena: &Arena, cache: Cache) -> Result<(), EngineError> {
    match arena.regime().level == Isolation::T3 && cache != Cache::Rotate {
        true => Err(EngineError::OnlyRotated(cache)),
        false => Ok(()),
    }
}

/// The arena under other rules, if this machine can keep them.
pub(crate) fn at(arena: &Arena, regime: Regime) -> Result<Arena, EngineError> {
    let level = regime.level;
    let missing = if level >= Isolation::T2 { missing_layers() } else { Vec::new() };
    match missing.is_empty() {
        true => Ok(arena.clone().under(regime)),
        false => Err(EngineError::NoSandbox { level, missing }),
    }
}
