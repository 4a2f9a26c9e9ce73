//! Loading a peer in a worker.

use crate::find::find;
use crate::kernel::PeerKernel;
use crate::{Found, Peer, PeerShelf, Ready, by_id, by_name};
use proofmark_contract::{ExplicitCase, Kernel, Signature};
use proofmark_schema::{ContenderId, ErrorContract, Receipt};

/// A peer that is loaded for a case.
pub struct Peered {
    /// What is called. It stays as long as the process, as the library does.
    pub kernel: &'static dyn Kernel,
    /// What the library reports about itself.
    pub receipt: Receipt,
    /// A call with nothing to do.
    pub empty: Option<&'static dyn Fn()>,
}

impl Peered {
    /// Makes a kernel of what is ready for calls.
    pub fn new(
        (name, summary): (&'static str, &'static str),
        contract: ErrorContract,
        ready: Ready,
    ) -> Peered {
        let kernel = PeerKernel { name, summary, contract, ready };
        let kernel: &'static PeerKernel = Box::leak(Box::new(kernel));
        let (receipt, empty) = (kernel.ready.receipt.clone(), kernel.ready.empty.as_deref());
        Peered { kernel, receipt, empty }
    }
}

/// Variables that keep idle threads of the usual runtimes asleep, so that they do not spin during
/// another contender's turn, and that keep thread counts as they are set.
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

/// Loads a peer, or a kernel of the user's own op, for a case with these operands.
///
/// # Errors
/// Why it does not do the case, or cannot be loaded.
pub fn load(
    shelf: &PeerShelf,
    id: &ContenderId,
    case: &ExplicitCase,
    signature: &Signature,
    threads: usize,
) -> Result<Peered, NotLoaded> {
    let (peer, found) =
        present(by_id(shelf, id, &case.op), shelf, id).map_err(NotLoaded::Broken)?;
    if !peer.has(&case.op) {
        return Err(NotLoaded::Unsupported(format!("`{}` has no `{}`", id.name, case.op)));
    }
    peer.supports(case).map_err(|reason| NotLoaded::Unsupported(reason.to_string()))?;
    set_environment(peer.environment());
    // An adapter has one kind of error. If its library opens, the case was the reason.
    let loaded = peer.load(&found, case, signature, threads);
    let mut ready = loaded.map_err(|reason| match peer.open(&found) {
        Ok(()) => NotLoaded::Unsupported(reason),
        Err(why) => NotLoaded::Broken(format!("it cannot be loaded: {why}")),
    })?;
    ready.receipt.lock = found.lock;
    let contract = peer.contract(case);
    Ok(Peered::new((peer.name(), peer.summary()), contract, ready))
}

/// Lets a peer load what every case needs, so that this process can be copied; `false` if that
/// would save nothing.
///
/// # Errors
/// Why it cannot be loaded.
pub fn warm(shelf: &PeerShelf, name: &str) -> Result<bool, String> {
    let id = ContenderId::peer(name);
    let (peer, found) = present(by_name(shelf, name), shelf, &id)?;
    set_environment(peer.environment());
    peer.warm(&found)
}

fn present(
    peer: Option<&'static dyn Peer>,
    shelf: &PeerShelf,
    id: &ContenderId,
) -> Result<(&'static dyn Peer, Found), String> {
    let peer = peer.ok_or_else(|| format!("there is no `{id}`"))?;
    let found = find(peer, shelf).ok_or_else(|| format!("`{id}` is not on this machine"))?;
    Ok((peer, found))
}

/// Sets the variables that the usual runtimes read when a library is opened, and these in addition.
/// A worker must call this before it opens the library.
pub fn set_environment(more: &[(&str, &str)]) {
    for (name, value) in QUIET.iter().chain(more) {
        // SAFETY: a worker has one thread when it loads a contender, so no other reads meanwhile.
        unsafe { std::env::set_var(name, value) };
    }
}
