//! The verdict on a submitted kernel: what `proofmark judge` prints.

use crate::isolation::Confinement;
use crate::proof::{Refusal, Stage};
use crate::quantity::Interval;
use crate::{Case, CodeFile, ContenderId, ErrorContract, Outcome};
use serde::{Deserialize, Serialize};

/// The name and version of a verdict's form. A field may be added to it; a field that is removed or
/// means something else makes another version.
pub const VERDICT_SCHEMA: &str = "proofmark.verdict/1";

/// What was judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// Its id among contenders.
    pub contender: ContenderId,
    /// Its file, as it was named.
    pub file: String,
    /// The file and the library that it names, with their hashes.
    pub code: Vec<CodeFile>,
    /// What its sandbox allowed beyond computing: `jit`, `interpreter`, `compiler`.
    pub allowed: Vec<String>,
    /// What it promised about its error; none if it was refused before it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<ErrorContract>,
}

/// The first result that was wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counterexample {
    /// The case.
    pub case: String,
    /// Where the case comes from.
    pub origin: CaseOrigin,
    /// The stage of the gate that found it; none if a race did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// Name of the output operand.
    pub output: String,
    /// Index of the element along each axis of that operand.
    pub element: Vec<usize>,
    /// What the kernel wrote.
    #[serde(with = "crate::real")]
    pub got: f64,
    /// What the oracle says.
    #[serde(with = "crate::real")]
    pub expected: f64,
    /// The error in units of the error that rounding can cause.
    #[serde(with = "crate::real")]
    pub error: f64,
    /// The most that this error may be.
    #[serde(with = "crate::real")]
    pub limit: f64,
    /// How the inputs were filled.
    pub inputs: String,
}

impl Counterexample {
    /// The worst element of a refusal; none if it is about something else than a value.
    pub fn of(case: &Case, origin: CaseOrigin, refusal: &Refusal) -> Option<Counterexample> {
        let worst = refusal.worst.as_deref()?;
        Some(Counterexample {
            case: case.to_string(),
            origin,
            stage: refusal.stage,
            output: worst.output.clone(),
            element: worst.index.clone(),
            got: worst.got,
            expected: worst.want,
            error: worst.q,
            limit: worst.limit,
            inputs: worst.inputs.clone(),
        })
    }
}

/// Where a case comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseOrigin {
    /// It was asked for, or is the op's own: the author of a kernel knows it.
    Shown,
    /// It was drawn by the seed after the kernel was submitted.
    HeldOut,
    /// It is one of the small cases that every proof of the op covers. It is not raced.
    Portfolio,
}

impl CaseOrigin {
    /// The words in tables.
    pub fn name(self) -> &'static str {
        match self {
            CaseOrigin::Shown => "shown",
            CaseOrigin::HeldOut => "held out",
            CaseOrigin::Portfolio => "portfolio",
        }
    }
}

/// What became of the submission on one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedCase {
    /// The case.
    pub case: String,
    /// Where it comes from.
    pub origin: CaseOrigin,
    /// The outcome; none if an earlier case ended the judgement.
    pub outcome: Option<Outcome>,
    /// Time of one call of the submission, in nanoseconds.
    pub time_ns: Option<Interval>,
    /// Time of one call of the baseline, in nanoseconds.
    pub baseline_ns: Option<Interval>,
    /// Time of the baseline over that of the submission, from pairs in the same race.
    pub speedup: Option<Interval>,
}

impl JudgedCase {
    /// A case that nothing is known of yet.
    pub fn open(case: &Case, origin: CaseOrigin) -> JudgedCase {
        JudgedCase {
            case: case.to_string(),
            origin,
            outcome: None,
            time_ns: None,
            baseline_ns: None,
            speedup: None,
        }
    }
}

/// The verdict on a submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubmissionVerdict {
    /// [`VERDICT_SCHEMA`].
    pub schema: String,
    /// The op.
    pub op: String,
    /// What was judged.
    pub submission: Submission,
    /// PROVEN, or the first other outcome. UNDECIDED if it was proven and a race gave no interval.
    pub outcome: Outcome,
    /// The lower bound of the speed-up; 0 unless it is PROVEN.
    pub reward: f64,
    /// What it was raced against.
    pub baseline: ContenderId,
    /// Geometric mean of the speed-ups over all cases, with its interval; none unless it is PROVEN.
    pub speedup: Option<Interval>,
    /// The same over the shown cases alone.
    pub speedup_shown: Option<Interval>,
    /// The same over the held-out cases alone.
    pub speedup_held_out: Option<Interval>,
    /// The first wrong result, if there is one.
    pub counterexample: Option<Counterexample>,
    /// Every case, in the order of the judgement.
    pub cases: Vec<JudgedCase>,
    /// Why the outcome is what it is, and what else should be known, in sentences.
    pub reasons: Vec<String>,
    /// How it was confined; `attempts` is what it tried and the sandbox refused.
    pub isolation: Confinement,
    /// Threads that both were given.
    pub threads: usize,
    /// The seed of held-out cases, inputs, layouts and orders.
    pub seed: u64,
    /// The version of this program.
    pub version: String,
    /// The run that keeps proofs and raw samples.
    pub run: String,
    /// Commands that repeat the judgement, the whole first.
    pub repeat: Vec<String>,
}
