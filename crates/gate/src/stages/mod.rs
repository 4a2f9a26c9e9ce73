//! The ten stages, in the order they run.

mod exact;
mod laws;
pub(crate) mod memory;
pub(crate) mod reproducible;
mod self_proof;
mod shape;
pub(crate) mod special;
pub(crate) mod structured;
pub(crate) mod trust;
mod zero_mean;

use crate::examiner::{Depth, Examination, Rules};
use proofmark_contract::{Op, Signature};
use proofmark_schema::Case;
use proofmark_schema::proof::{Refusal, Stage};

/// A stage: passes, or refuses.
pub(crate) type Run = fn(&mut Examination<'_>) -> Result<(), Box<Refusal>>;

/// Every stage in order; the first failure stops.
pub(crate) const STAGES: &[(Stage, Run)] = &[
    (Stage::Shape, shape::run),
    (Stage::Memory, memory::run),
    (Stage::Exact, exact::run),
    (Stage::ZeroMean, zero_mean::run),
    (Stage::Structured, structured::run),
    (Stage::Special, special::run),
    (Stage::Reproducible, reproducible::run),
    (Stage::Laws, laws::run),
    (Stage::Trust, trust::run),
    (Stage::SelfProof, self_proof::run),
];

/// What decides how many runs a stage makes, before there is a contender.
#[derive(Clone, Copy)]
pub(crate) struct Outline<'a> {
    pub(crate) op: &'a dyn Op,
    pub(crate) case: &'a Case,
    pub(crate) signature: &'a Signature,
    pub(crate) rules: &'a Rules,
}

impl Outline<'_> {
    /// Whether only a few runs of each kind are affordable.
    pub(crate) fn is_sampled(&self) -> bool {
        self.rules.depth == Depth::Sampled
    }
}
