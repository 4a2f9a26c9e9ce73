//! Findings: what records say, in words a person can act on.

use serde::{Deserialize, Serialize};

/// How much a finding matters; the worst decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth reading.
    Note,
    /// Something could not be decided.
    Undecided,
    /// The environment stood in the way.
    Environment,
    /// A regression.
    Regression,
    /// A contender crashed or timed out.
    Crashed,
    /// A contender is wrong.
    Incorrect,
    /// A cheat, an impossible speed or a broken sandbox.
    Integrity,
}

/// One claim about a run, with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What is claimed, with numbers and units.
    pub claim: String,
    /// Items of the plan it rests on.
    pub items: Vec<u64>,
    /// What to do next; often a command.
    pub advice: String,
}
