//! The plan of a run: what will be proved and raced, before anything runs.

use crate::{Case, ContenderId, Memory};
use serde::{Deserialize, Serialize};
use std::fmt;

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

/// Which command a run belongs to, and for a table how much time each cell is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// A table with short races: a first look.
    Quick,
    /// A table with races of the usual length.
    Standard,
    /// Two arms against each other until a verdict.
    Compare,
    /// A contender against itself on more threads.
    Scale,
    /// Races that find crossings of two contenders, or the fastest kernel and blocks.
    Tune,
    /// Programs that are raced as they are: commands, and benchmarks of other harnesses.
    Programs,
}

impl RunKind {
    /// Whether the run is a table, which can be resumed and sharded.
    pub fn is_table(self) -> bool {
        matches!(self, RunKind::Quick | RunKind::Standard)
    }

    /// The word in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            RunKind::Quick => "quick",
            RunKind::Standard => "standard",
            RunKind::Compare => "compare",
            RunKind::Scale => "scale",
            RunKind::Tune => "tune",
            RunKind::Programs => "programs",
        }
    }
}

impl fmt::Display for RunKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Which part of a plan a run has, where machines share a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanPart {
    /// Its number, from 1.
    pub number: u32,
    /// How many parts the plan has.
    pub of: u32,
    /// Hash of the whole plan.
    pub whole: String,
}

/// What a run will do. Printable, hashable, storable; nothing has run yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Format version.
    pub format: u32,
    /// Seed of every input and order.
    pub seed: u64,
    /// Which command it is for; files call it the budget.
    #[serde(rename = "budget")]
    pub kind: RunKind,
    /// The items in order.
    pub items: Vec<Item>,
    /// The contenders that cannot enter, and why.
    pub absent: Vec<Absence>,
    /// Estimated seconds of proofs, among those of all.
    #[serde(default)]
    pub proof_seconds: f64,
    /// Estimated seconds of all.
    pub estimate_seconds: f64,
    /// Which part of a larger plan it is. None for a whole plan, and for a plan that is older than
    /// this field: there a note in the journal names the part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PlanPart>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = concat!(
        r#"{"format":3,"seed":7,"budget":"KIND","items":[],"absent":[],"#,
        r#""proof_seconds":0.5,"estimate_seconds":1.5}"#
    );

    #[test]
    fn a_plan_of_an_older_run_is_read_and_written_alike() {
        let kinds = [
            RunKind::Quick,
            RunKind::Standard,
            RunKind::Compare,
            RunKind::Scale,
            RunKind::Tune,
            RunKind::Programs,
        ];
        for kind in kinds {
            let old = OLD.replace("KIND", kind.name());
            let plan: Plan = serde_json::from_str(&old).unwrap();
            assert_eq!((plan.kind, &plan.part), (kind, &None));
            // The hash of a plan, by which shards know each other, is that of this text.
            assert_eq!(serde_json::to_string(&plan).unwrap(), old);
        }
    }
}
