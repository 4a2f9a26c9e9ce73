//! A request to prove contenders on whole portfolios, and the verdict on one of them.

use proofmark_ops::tuning::Settings;
use proofmark_peers::PeerShelf;
use proofmark_schema::proof::Proof;
use proofmark_schema::{ContenderId, DType, Isa, Outcome, Receipt};

/// What to prove.
#[derive(Clone, Debug)]
pub struct ProveRequest {
    /// Ops by name; empty means all.
    pub ops: Vec<String>,
    /// Element types; empty means all of each op.
    pub dtypes: Vec<DType>,
    /// The contenders, by pattern; `native/*@*` means every kernel on every path.
    pub with: String,
    /// Seed of the inputs.
    pub seed: u64,
    /// Proofs by any seed count as made.
    pub any_seed: bool,
    /// Threads contenders are given.
    pub threads: usize,
    /// Highest path.
    pub cap: Isa,
    /// Where peers are.
    pub shelf: PeerShelf,
    /// What workers are tuned with.
    pub tuned: Settings,
    /// Whether to prove only contenders that have no proof in the book yet.
    pub missing: bool,
}

/// A contender judged on an op's portfolio for an element type.
#[derive(Clone, Debug)]
pub struct Certified {
    /// The op.
    pub op: &'static str,
    /// The contender.
    pub contender: ContenderId,
    /// The element type.
    pub dtype: DType,
    /// The verdict over all cases.
    pub outcome: Outcome,
    /// What the contender reports about itself.
    pub receipt: Receipt,
    /// The proofs, in order.
    pub proofs: Vec<Proof>,
}
