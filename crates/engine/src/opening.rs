//! Whether a peer's library opens, found out in a process of its own.

use crate::{EngineError, find_op};
use proofmark_arena::{Arena, Fault, Spawn};
use proofmark_contract::complete_case;
use proofmark_peers::{Peer, PeerShelf, by_name};
use proofmark_schema::{Case, ContenderId};

/// An op that every interface can be asked about.
const ANY: &str = "add";

/// Lets a worker open a peer's library: nothing that is in it runs in this process.
///
/// # Errors
/// If it does not open, ends the process that opens it, or no process can be had.
pub fn check_opens(arena: &Arena, shelf: &PeerShelf, name: &str) -> Result<(), EngineError> {
    let Some(peer) = by_name(shelf, name) else { return Ok(()) };
    let Some(case) = case_of(peer)? else { return Ok(()) };
    let loaded = arena
        .spawn(&Spawn::default())
        .and_then(|mut worker| worker.load(&ContenderId::peer(name), &case, 1, 0));
    match loaded {
        // A case that it does not do was refused by the library itself.
        Ok(_) | Err(Fault::Unsupported(_)) => Ok(()),
        Err(Fault::Broken(why)) => Err(EngineError::BrokenPeer { name: name.to_owned(), why }),
        Err(fault) => {
            Err(EngineError::BrokenPeer { name: name.to_owned(), why: fault.to_string() })
        }
    }
}

/// A case that the peer does not refuse before it is opened.
fn case_of(peer: &dyn Peer) -> Result<Option<Case>, EngineError> {
    let ops = if peer.ops().is_empty() { &[ANY] } else { peer.ops() };
    for op in ops {
        let entry = find_op(op)?;
        for &dtype in entry.op.dtypes() {
            let case = complete_case(entry.op, &Case::new(op, dtype));
            if peer.supports(&case).is_ok() {
                return Ok(Some(case));
            }
        }
    }
    Ok(None)
}
