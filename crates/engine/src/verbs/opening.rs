//! Checks in a separate process whether a peer's library opens.

use crate::race::isolated;
use crate::{EngineError, find_op};
use proofmark_arena::{Arena, Fault, Spawn};
use proofmark_contract::{ExplicitCase, complete_case};
use proofmark_peers::{Peer, PeerShelf, by_name};
use proofmark_schema::{Case, ContenderId};

/// An op that every interface can be asked about.
const ANY: &str = "add";

/// Has a worker open a peer's library, so that none of the library's code runs in this process.
///
/// # Errors
/// If it does not open, ends the process that opens it, or no process can be started.
pub fn check_opens(arena: &Arena, shelf: &PeerShelf, name: &str) -> Result<(), EngineError> {
    let Some(peer) = by_name(shelf, name) else { return Ok(()) };
    let Some(case) = case_of(peer)? else { return Ok(()) };
    let contender = ContenderId::peer(name);
    let loaded = isolated(arena, [&contender])?
        .spawn_for(&contender, &Spawn::default())
        .and_then(|mut worker| worker.load(&contender, &case, 1, 0));
    match loaded {
        // A refused case shows that the library opened, because the library itself refused it.
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
            if peer.supports(&ExplicitCase::of(entry.op, &case)).is_ok() {
                return Ok(Some(case));
            }
        }
    }
    Ok(None)
}
