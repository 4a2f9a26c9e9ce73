//! What is proven of whom: every op against every contender, from the proofs that were kept.

use crate::{Certified, EngineError, Roster, ops};
use proofmark_peers::{PeerShelf, Status};
use proofmark_schema::{ContenderId, DType, Family, Isa, Outcome};
use proofmark_store::Store;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// The file in the store that keeps the last verdict of each contender.
const FILE: &str = "proofs.json";

/// A verdict over an op's portfolio, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    op: String,
    contender: ContenderId,
    dtype: DType,
    outcome: Outcome,
    /// See [`identity`].
    of: String,
}

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

/// Keeps verdicts for [`coverage`], each in place of the last one of the same contender.
///
/// # Errors
/// If the store cannot be written.
pub fn keep_proofs(
    store: &Store,
    program: &Path,
    shelf: &PeerShelf,
    certified: &[Certified],
) -> Result<(), EngineError> {
    let program = hash(program);
    let mut kept = read(store);
    for one in certified {
        let is_same = |old: &Kept| {
            (old.op.as_str(), &old.contender, old.dtype) == (one.op, &one.contender, one.dtype)
        };
        kept.retain(|old| !is_same(old));
        kept.push(Kept {
            op: one.op.to_owned(),
            contender: one.contender.clone(),
            dtype: one.dtype,
            outcome: one.outcome,
            of: identity(&program, shelf, &one.contender),
        });
    }
    let text = serde_json::to_vec_pretty(&kept).unwrap_or_default();
    Ok(store.write_file(FILE, &text)?)
}

/// Every op against every kernel's best path and every peer.
pub fn coverage(store: &Store, program: &Path, shelf: &PeerShelf, cap: Isa) -> Vec<Covered> {
    let kept = read(store);
    let program = hash(program);
    let roster = Roster::new("native/* peer/*", cap).with_peers(shelf);
    let mut all = Vec::new();
    for entry in ops() {
        let kernels = roster.kernels(entry).into_iter().map(|(who, _, _)| (who, true));
        let peers = roster.peers(entry).into_iter();
        let peers = peers.map(|(who, _, status)| (who, matches!(status, Status::Ready(_))));
        for (contender, is_here) in kernels.chain(peers) {
            let of = identity(&program, shelf, &contender);
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

/// What is kept; a file that cannot be read is as none.
fn read(store: &Store) -> Vec<Kept> {
    let text = store.read_file(FILE).ok().flatten();
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// What a verdict is about: this program, and the version of a peer that it opens.
fn identity(program: &str, shelf: &PeerShelf, contender: &ContenderId) -> String {
    let peer = (contender.family == Family::Peer)
        .then(|| proofmark_peers::by_name(shelf, &contender.name))
        .flatten();
    let found = peer.and_then(|peer| proofmark_peers::find(peer, shelf));
    match found.and_then(|found| found.version) {
        Some(version) => format!("{program} {version}"),
        None => program.to_owned(),
    }
}

fn hash(program: &Path) -> String {
    let bytes = fs::read(program).unwrap_or_default();
    blake3::hash(&bytes).to_hex()[..16].to_owned()
}
