//! Programs that are raced as they are: what was asked, what was measured, what follows.
//!
//! A program has no oracle. What is kept of it is a ratio with its interval, never a time.

use crate::decision::{Round, Standing};
use crate::quantity::Interval;
use crate::race::Verdict;
use serde::{Deserialize, Serialize};

/// What times a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Harness {
    /// Nothing: a sample is the time of a whole process.
    Command,
    /// The crate `criterion`.
    Criterion,
    /// The crate `divan`.
    Divan,
    /// `#[bench]` functions of the Rust compiler's own test harness.
    Libtest,
    /// The C++ library Google Benchmark.
    Google,
}

impl Harness {
    /// The word in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Harness::Command => "command",
            Harness::Criterion => "criterion",
            Harness::Divan => "divan",
            Harness::Libtest => "libtest",
            Harness::Google => "google",
        }
    }
}

/// What is known about the results of a program. There is no PROVEN: nothing says what is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProgramOutcome {
    /// Nothing is known.
    Unproven,
    /// Both sides wrote the same output in every run.
    Agrees,
    /// The outputs of the two sides differ.
    Differs,
    /// A side ended with another exit code or by a signal, did not end, or gave no figure.
    Crashed,
}

impl ProgramOutcome {
    /// The word in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            ProgramOutcome::Unproven => "UNPROVEN",
            ProgramOutcome::Agrees => "AGREES",
            ProgramOutcome::Differs => "DIFFERS",
            ProgramOutcome::Crashed => "CRASHED",
        }
    }
}

/// One process of a race, raw.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramSample {
    /// Trial.
    pub trial: u32,
    /// Block within the trial.
    pub block: u32,
    /// Position within the block.
    pub position: u32,
    /// 0 for the base, 1 for the other.
    pub arm: u32,
    /// Nanoseconds that ratios are made of: those of the process for a command, those of one
    /// iteration by the harness's own clock for a benchmark.
    pub value_ns: f64,
    /// Nanoseconds from the start of the process to its end, by this program's clock.
    pub wall_ns: u64,
    /// Processor time of the process and of those that it waited for.
    pub cpu_ns: u64,
}

/// What a race of two programs says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramRuling {
    /// The round that it belongs to.
    pub round: Round,
    /// Time of the other side over the time of the base.
    pub ratio: Interval,
    /// The word that follows from it.
    pub verdict: Verdict,
    /// Trials behind it.
    pub trials: u32,
    /// Processes behind it.
    pub processes: u32,
    /// Trial counts at which it could be decided.
    pub looks: Vec<u32>,
    /// Error rate over all looks.
    pub alpha: f64,
    /// Differences below this share are not reported.
    pub report_margin: f64,
    /// Differences below this share are the same.
    pub same_margin: f64,
    /// Why nothing was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided_because: Option<String>,
    /// The effect that would have been found nine times in ten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
    /// Of the whole race, over all its looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
    /// Seconds that the race took.
    pub seconds: f64,
}

/// A race with its raw samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramRace {
    /// The benchmark.
    pub name: String,
    /// Seed of the orders.
    pub seed: u64,
    /// Every process, in the order in which they ran.
    pub samples: Vec<ProgramSample>,
    /// What follows from them.
    pub ruling: ProgramRuling,
}

/// Why a side of a benchmark has no figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramFault {
    /// 0 for the base, 1 for the other.
    pub arm: u32,
    /// How the program ended: `signal 11 (SIGSEGV)`, `exit code 3`.
    pub what: String,
    /// The last lines of its standard error.
    pub said: String,
}

/// One benchmark of a comparison, or one pair of commands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramDecision {
    /// Its name: `target/benchmark`, or the name of the pair.
    pub name: String,
    /// What times it.
    pub harness: Harness,
    /// What is known about its results.
    pub outcome: ProgramOutcome,
    /// What the comparison says of it in the end.
    #[serde(deserialize_with = "standing")]
    pub standing: Standing,
    /// The first race.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen: Option<ProgramRuling>,
    /// The second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<ProgramRuling>,
    /// Why a side has no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<ProgramFault>,
    /// Where the outputs differ, or why they could not be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// Reads a standing from its word. What fresh trials said of one that was not confirmed is in
/// `confirmation`, and here it is UNDECIDED.
fn standing<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Standing, D::Error> {
    let word = String::deserialize(deserializer)?;
    let known = [
        Standing::Faster,
        Standing::Same,
        Standing::Slower,
        Standing::NotConfirmed(Verdict::Undecided),
        Standing::Undecided,
        Standing::Refused,
    ];
    let is_it = |it: &Standing| it.name().eq_ignore_ascii_case(&word.replace('_', " "));
    let unknown = || serde::de::Error::custom(format!("there is no standing `{word}`"));
    known.into_iter().find(is_it).ok_or_else(unknown)
}

impl ProgramDecision {
    /// The last race.
    pub fn last(&self) -> Option<&ProgramRuling> {
        self.confirmation.as_ref().or(self.screen.as_ref())
    }
}

/// A comparison of programs: every benchmark that both sides have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramComparison {
    /// The side that is compared with, as it was asked for.
    pub base: String,
    /// The other.
    pub other: String,
    /// Error rate of the whole comparison.
    pub alpha: f64,
    /// The benchmarks.
    pub decisions: Vec<ProgramDecision>,
    /// Benchmarks that only the base has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_base: Vec<String>,
    /// Benchmarks that only the other has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_other: Vec<String>,
    /// What is worth knowing besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What a run of programs keeps, in the order in which it happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProgramEntry {
    /// A race has ended.
    Raced(Box<ProgramRace>),
    /// The comparison has ended.
    Compared(Box<ProgramComparison>),
}
