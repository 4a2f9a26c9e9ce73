//! Other libraries as contenders: where to find them, how to get them, adapters that call them.
//!
//! A [`Peer`] is one file or folder and one line in [`PEERS`]. The supervisor asks it what it has
//! and where it is; the worker, a process of its own for each peer, lets it [`load`] a case and
//! calls what comes back like any kernel. Nothing of a peer is linked: libraries are opened at run
//! time, Python frameworks by opening an interpreter, Rust crates as plug-ins built apart.

mod blas;
mod fftw;
mod find;
mod ggml;
mod install;
mod kernel;
mod load;
mod onednn;
mod onnxruntime;
mod open;
mod peer;
mod plugin;
mod python;
mod rows;
mod rust_crates;
mod shelf;
#[cfg(test)]
mod trial;
mod vectors;
mod version;

use proofmark_schema::{ContenderId, Family};
use version::Versioned;

pub use find::{Found, Status, find, status};
pub use install::{Hear, InstallError, Tools, add, register, remove, restore};
pub use load::{NotLoaded, Peered, load, set_environment, warm};
pub use open::Open;
pub use peer::{CallMemory, Called, Needs, Pack, Packing, Peer, Ready, Source};
pub use plugin::Plugin;
pub use python::Script;
pub use python::home::interpreter;
pub use shelf::{PeerShelf, PythonHome, Shelved};
pub use version::versions;

/// Every peer, in the order of tables.
pub const PEERS: &[&dyn Peer] = &[
    &blas::OPENBLAS,
    &blas::MKL,
    &blas::BLIS,
    &fftw::Fftw,
    &onednn::OneDnn,
    &ggml::Ggml,
    &onnxruntime::OnnxRuntime,
    &rust_crates::GEMM,
    &rust_crates::GEMM_AVX512,
    &rust_crates::FAER,
    &rust_crates::MATRIXMULTIPLY,
    &rust_crates::RUSTFFT,
    &rust_crates::CANDLE,
    &python::NUMPY,
    &python::PYTORCH,
    &python::PYTORCH_COMPILE,
    &python::JAX,
];

/// The peer of that name: one of ours, with a version or without, or one that a user put on the
/// shelf.
pub fn by_name(shelf: &PeerShelf, name: &str) -> Option<&'static dyn Peer> {
    let known = PEERS.iter().copied().find(|peer| peer.name() == name);
    known.or_else(|| Versioned::of(name)).or_else(|| Plugin::on(shelf, name))
}

/// The peer behind an id: a library, or the kernel of that name for an op of the user.
pub fn by_id(shelf: &PeerShelf, id: &ContenderId, op: &str) -> Option<&'static dyn Peer> {
    match id.family {
        Family::Peer => by_name(shelf, &id.name),
        Family::Mutant => {
            let of_op = shelf.own().iter().filter(|peer| peer.has(op));
            of_op.into_iter().find_map(|peer| peer.mutant(&id.name))
        }
        family => {
            let is_it = |peer: &&&dyn Peer| {
                peer.family() == family && peer.name() == id.name && peer.has(op)
            };
            shelf.own().iter().find(is_it).copied()
        }
    }
}

/// Every peer of ours, those that a user put on the shelf, and kernels of the user's own ops.
pub fn all(shelf: &PeerShelf) -> Vec<&'static dyn Peer> {
    let mut all = libraries(shelf);
    all.extend(shelf.own());
    all
}

/// Every peer of ours, the versions of them that are on the shelf, and what else a user put there.
pub fn libraries(shelf: &PeerShelf) -> Vec<&'static dyn Peer> {
    let mut all = PEERS.to_vec();
    for name in shelf.names() {
        let versions = Versioned::in_folder(&name);
        if versions.is_empty() && PEERS.iter().all(|peer| peer.name() != name) {
            all.extend(Plugin::on(shelf, &name));
        }
        all.extend(versions);
    }
    all
}
