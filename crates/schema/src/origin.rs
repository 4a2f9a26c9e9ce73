//! Where a number comes from: what ran, on what, and what stood around it.

use crate::Isolation;
use crate::quantity::Interval;
use crate::{Case, CodeFile, ContenderId};
use serde::Serialize;

/// What stands behind one measured number of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Origin {
    /// The item of the plan.
    pub item: u64,
    /// The contender.
    pub contender: ContenderId,
    /// The case.
    pub case: Case,
    /// Threads that it was given.
    pub threads: usize,
    /// The number: nanoseconds of one call.
    pub wall_ns: Interval,
    /// The version that the contender states.
    pub version: String,
    /// The program that its worker ran; none in records that do not name it.
    pub program: Option<CodeFile>,
    /// The libraries that its worker had opened; empty in records that do not name them.
    pub libraries: Vec<CodeFile>,
    /// Seed of the inputs that it was proven on.
    pub proof_seed: u64,
    /// Seed from which the race drew its trials; none if the race is not there.
    pub race_seed: Option<u64>,
    /// Seeds of the trials: of the layout, and of the inputs revealed after loading.
    pub trial_seeds: Vec<u64>,
    /// What stood between it and the supervisor.
    pub isolation: Isolation,
}
