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

pub use find::{Found, Status, find, status};
pub use install::{Hear, InstallError, Tools, add, register, remove, restore};
pub use load::{NotLoaded, Peered, load, warm};
pub use peer::{Called, Needs, Peer, Ready, Source};
pub use plugin::Plugin;
pub use shelf::{PeerShelf, PythonHome, Shelved};

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

/// The peer of that name: one of ours, or one that a user put on the shelf.
pub fn by_name(shelf: &PeerShelf, name: &str) -> Option<&'static dyn Peer> {
    let known = PEERS.iter().copied().find(|peer| peer.name() == name);
    known.or_else(|| Plugin::on(shelf, name))
}

/// Every peer of ours, and those that a user put on the shelf.
pub fn all(shelf: &PeerShelf) -> Vec<&'static dyn Peer> {
    let mut all = PEERS.to_vec();
    let is_new = |name: &&String| PEERS.iter().all(|peer| peer.name() != name.as_str());
    let names = shelf.names();
    all.extend(names.iter().filter(is_new).filter_map(|name| Plugin::on(shelf, name)));
    all
}
