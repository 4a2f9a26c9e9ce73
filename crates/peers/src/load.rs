//! Loading a peer in a worker.

use crate::find::find;
use crate::kernel::PeerKernel;
use crate::{Found, Peer, PeerShelf, by_name};
use proofmark_contract::{ExplicitCase, Kernel, Signature};
use proofmark_schema::Receipt;

/// A peer that is loaded for a case.
pub struct Peered {
    /// What is called. It stays as long as the process, as the library does.
    pub kernel: &'static dyn Kernel,
    /// What the library says of itself.
    pub receipt: Receipt,
    /// A call with nothing to do.
    pub empty: Option<&'static dyn Fn()>,
}

/// Variables that keep idle threads of the usual runtimes asleep instead of spinning beside the
/// contender whose turn it is, and that keep thread counts as they are set.
const QUIET: &[(&str, &str)] = &[
    ("OMP_WAIT_POLICY", "passive"),
    ("GOMP_SPINCOUNT", "0"),
    ("KMP_BLOCKTIME", "0"),
    ("OMP_DYNAMIC", "false"),
    ("MKL_DYNAMIC", "FALSE"),
];

/// Why a peer is not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotLoaded {
    /// It does not do the case.
    Unsupported(String),
    /// It is not here, or its library does not open, whatever the case.
    Broken(String),
}

/// Loads a peer for a case with these operands.
///
/// # Errors
/// Why it does not do the case, or cannot be loaded.
pub fn load(
    shelf: &PeerShelf,
    name: &str,
    case: &ExplicitCase,
    signature: &Signature,
    threads: usize,
) -> Result<Peered, NotLoaded> {
    let (peer, found) = present(shelf, name).map_err(NotLoaded::Broken)?;
    if !peer.has(&case.op) {
        return Err(NotLoaded::Unsupported(format!("`{name}` has no `{}`", case.op)));
    }
    peer.supports(case).map_err(|reason| NotLoaded::Unsupported(reason.to_string()))?;
    set_environment(peer);
    // An adapter has one kind of error. If its library opens, the case was the reason.
    let mut ready =
        peer.load(&found, case, signature, threads).map_err(|reason| match peer.open(&found) {
            Ok(()) => NotLoaded::Unsupported(reason),
            Err(why) => NotLoaded::Broken(format!("it cannot be loaded: {why}")),
        })?;
    ready.receipt.lock = found.lock;
    let contract = peer.contract(case);
    let kernel = PeerKernel { name: peer.name(), summary: peer.summary(), contract, ready };
    let kernel: &'static PeerKernel = Box::leak(Box::new(kernel));
    Ok(Peered {
        kernel,
        receipt: kernel.ready.receipt.clone(),
        empty: kernel.ready.empty.as_deref(),
    })
}

/// Lets a peer load what every case needs, so that this process can be copied; `false` if that
/// would save nothing.
///
/// # Errors
/// Why it cannot be loaded.
pub fn warm(shelf: &PeerShelf, name: &str) -> Result<bool, String> {
    let (peer, found) = present(shelf, name)?;
    set_environment(peer);
    peer.warm(&found)
}

fn present(shelf: &PeerShelf, name: &str) -> Result<(&'static dyn Peer, Found), String> {
    let peer = by_name(shelf, name).ok_or_else(|| format!("there is no peer `{name}`"))?;
    let found = find(peer, shelf).ok_or_else(|| format!("`{name}` is not on this machine"))?;
    Ok((peer, found))
}

fn set_environment(peer: &dyn Peer) {
    for (name, value) in QUIET.iter().chain(peer.environment()) {
        // SAFETY: a worker has one thread when it loads a contender, so no other reads meanwhile.
        unsafe { std::env::set_var(name, value) };
    }
}
