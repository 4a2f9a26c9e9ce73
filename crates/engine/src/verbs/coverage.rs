//! Coverage: what the stored proofs say of every op and every contender.

use crate::prove::book::{Kept, hash, identity, read};
use crate::{Roster, ops};
use proofmark_peers::{PeerShelf, Status};
use proofmark_schema::{ContenderId, DType, Isa, Outcome};
use proofmark_store::Store;
use std::collections::BTreeMap;
use std::path::Path;

/// What is known of a contender on an op for an element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It was judged, and has not changed since.
    Judged(Outcome),
    /// It is on this machine and was not judged yet, or was changed since.
    NotYet,
    /// It is not on this machine.
    Absent,
}

/// One contender on one op.
#[derive(Clone, Debug, PartialEq)]
pub struct Covered {
    /// The op.
    pub op: &'static str,
    /// The contender.
    pub contender: ContenderId,
    /// Its state for each element type of the op.
    pub known: Vec<(DType, Known)>,
}

/// Every op against every kernel's best path and every peer.
pub fn coverage(store: &Store, program: &Path, shelf: &PeerShelf, cap: Isa) -> Vec<Covered> {
    let kept = read(store);
    let program = hash(program);
    let roster = Roster::new("native/* peer/* own/*", cap).with_peers(shelf);
    // Files of a peer are read once for all ops.
    let mut identities = BTreeMap::new();
    let mut all = Vec::new();
    for entry in ops() {
        let kernels = roster.kernels(entry).into_iter().map(|(who, _, _)| (who, true));
        let peers = roster.peers(entry).into_iter();
        let peers = peers.map(|(who, _, status)| (who, matches!(status, Status::Ready(_))));
        for (contender, is_here) in kernels.chain(peers) {
            let find = || identity(&program, shelf, &contender, entry.op.name());
            let of = identities.entry(contender.clone()).or_insert_with(find).clone();
            let state = |dtype: DType| {
                let of_this = |one: &&Kept| {
                    one.op == entry.op.name()
                        && one.contender == contender
                        && one.dtype == dtype
                        && one.of == of
                };
                match kept.iter().find(of_this) {
                    _ if !is_here => Known::Absent,
                    Some(one) => Known::Judged(one.outcome),
                    None => Known::NotYet,
                }
            };
            let known = entry.op.dtypes().iter().map(|&dtype| (dtype, state(dtype))).collect();
            all.push(Covered { op: entry.op.name(), contender, known });
        }
    }
    all
}
