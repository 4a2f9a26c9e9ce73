//! The plan of a run: what will be proved and raced, before anything runs.

use crate::{Case, ContenderId, Memory};
use serde::{Deserialize, Serialize};

/// A place where a model has a case, and how many times it computes it for a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// The model.
    pub model: String,
    /// Tokens of the step: 1 when it writes one after the other.
    pub tokens: u64,
    /// The layer's name within the model.
    pub layer: String,
    /// Times that a step has it.
    pub times: u64,
}

/// One case with the contenders that meet on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Its number, from 0; records name it.
    pub index: u64,
    /// The case.
    pub case: Case,
    /// The contenders that meet on it; the first is the one the others are compared with.
    pub field: Vec<ContenderId>,
    /// Threads each may use.
    pub threads: usize,
    /// What caches and pages it is measured with.
    #[serde(default)]
    pub memory: Memory,
    /// Where models have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Use>,
}

/// Why a contender is not in the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Absence {
    /// The contender.
    pub contender: String,
    /// The case.
    pub case: String,
    /// Why, with what to do about it.
    pub reason: String,
}

/// What a run will do. Printable, hashable, storable; nothing has run yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Format version.
    pub format: u32,
    /// Seed of every input and order.
    pub seed: u64,
    /// `quick` or `standard`: how much each cell is given.
    pub budget: String,
    /// The items in order.
    pub items: Vec<Item>,
    /// The contenders that cannot enter, and why.
    pub absent: Vec<Absence>,
    /// Estimated seconds of proofs, among those of all.
    #[serde(default)]
    pub proof_seconds: f64,
    /// Estimated seconds of all.
    pub estimate_seconds: f64,
}
