//! What a proof says: stages, errors, and for a refusal the worst element and how to see it again.

use crate::crash::Crash;
use crate::isolation::Confinement;
use crate::precision::Precision;
use crate::{Case, ContenderId, ErrorContract, Outcome, Reproducibility};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The gate's stages, in the order they run; the first failure stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// A: outputs all written, inputs unchanged, state of the processor restored.
    Shape,
    /// B: guard pages on both sides, padding, every base offset.
    Memory,
    /// C: exact integers, tolerance 0.
    Exact,
    /// D: zero-mean reals, constant limits.
    ZeroMean,
    /// E: offset, graded, cancelling and needle data.
    Structured,
    /// F: special values at every lane and in tails.
    Special,
    /// G: repeats, thread counts, instruction-set paths.
    Reproducible,
    /// H: metamorphic laws of the op.
    Laws,
    /// I: could this test have failed?
    Trust,
    /// J: planted errors must be found on this very output.
    SelfProof,
}

impl Stage {
    /// Every stage in order.
    pub const ALL: [Stage; 10] = [
        Stage::Shape,
        Stage::Memory,
        Stage::Exact,
        Stage::ZeroMean,
        Stage::Structured,
        Stage::Special,
        Stage::Reproducible,
        Stage::Laws,
        Stage::Trust,
        Stage::SelfProof,
    ];

    /// Its letter in reports.
    pub fn letter(self) -> char {
        (b'A' + self as u8) as char
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Shape => "shape",
            Stage::Memory => "memory",
            Stage::Exact => "exact",
            Stage::ZeroMean => "zero_mean",
            Stage::Structured => "structured",
            Stage::Special => "special",
            Stage::Reproducible => "reproducible",
            Stage::Laws => "laws",
            Stage::Trust => "trust",
            Stage::SelfProof => "self_proof",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.letter(), self.name())
    }
}

/// What one stage did on one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageReport {
    /// Which stage.
    pub stage: Stage,
    /// How many runs of the contender it judged; 0 where the op has nothing for this stage.
    pub checks: u32,
    /// Why it did nothing, or what it found.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The errors seen over a proof, in the dimensionless unit of the gate and in familiar ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    /// Greatest error in units of `u·scale`.
    #[serde(with = "crate::real")]
    pub q_max: f64,
    /// Root mean square of the same.
    #[serde(with = "crate::real")]
    pub q_rms: f64,
    /// Mean signed error times √N: how many sigmas off centre.
    #[serde(with = "crate::real")]
    pub bias: f64,
    /// Greatest relative error; reported, never decides.
    #[serde(with = "crate::real")]
    pub max_relative: f64,
    /// Greatest distance in units in the last place of the output; reported, never decides.
    #[serde(with = "crate::real")]
    pub max_ulp: f64,
    /// Normalised mean square error; reported, never decides.
    #[serde(with = "crate::real")]
    pub nmse: f64,
    /// One minus the cosine similarity; reported, never decides.
    #[serde(with = "crate::real")]
    pub cosine_distance: f64,
}

/// The worst element of a refused output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worst {
    /// Name of the output operand.
    pub output: String,
    /// Index along each axis of that operand.
    pub index: Vec<usize>,
    /// What the contender wrote.
    #[serde(with = "crate::real")]
    pub got: f64,
    /// What the oracle says.
    #[serde(with = "crate::real")]
    pub want: f64,
    /// The error in units of `u·scale`.
    #[serde(with = "crate::real")]
    pub q: f64,
    /// The limit it broke.
    #[serde(with = "crate::real")]
    pub limit: f64,
    /// How the inputs were filled (`x=normal w=uniform(-1,1)`).
    pub inputs: String,
    /// The input values nearest to this element, by operand.
    pub nearby: Vec<(String, String)>,
}

/// Why a contender was refused: a result, not an error of ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The outcome it leads to.
    pub outcome: Outcome,
    /// The stage that refused, if any ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// One sentence with the numbers.
    pub reason: String,
    /// The worst element, for wrong values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<Box<Worst>>,
    /// The crash, for a dead worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<Box<Crash>>,
    /// The command that shows it again.
    pub repro: String,
}

/// The gate's full report on one contender and one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The case proved (the shapes tried around it are the op's portfolio).
    pub case: Case,
    /// The contender judged.
    pub contender: ContenderId,
    /// Threads it ran with.
    pub threads: usize,
    /// Seed of the inputs.
    pub seed: u64,
    /// The verdict.
    pub outcome: Outcome,
    /// What the contender had promised.
    pub contract: ErrorContract,
    /// The stages that ran.
    pub stages: Vec<StageReport>,
    /// Greatest errors over all judged runs.
    pub errors: Errors,
    /// The class it was seen to reach.
    pub reproducibility: Reproducibility,
    /// The precision of its sums, or what its errors look like instead.
    pub precision: Precision,
    /// What it changed of its process and did not restore, in words: it decides nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    /// How it was confined, and what it tried against that.
    #[serde(default, skip_serializing_if = "Confinement::is_unstated")]
    pub confinement: Confinement,
    /// Set unless proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
}

impl Proof {
    /// Runs of the contender that were judged.
    pub fn checks(&self) -> u32 {
        self.stages.iter().map(|stage| stage.checks).sum()
    }
}
