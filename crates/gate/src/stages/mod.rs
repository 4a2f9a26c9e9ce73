//! The ten stages, in the order they run.

mod exact;
mod laws;
pub(crate) mod memory;
mod outline;
pub(crate) mod reproducible;
mod self_proof;
mod shape;
pub(crate) mod special;
pub(crate) mod structured;
pub(crate) mod trust;
mod zero_mean;

pub(crate) use outline::Outline;

use crate::examination::Examination;
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
