//! What a comparison of programs is asked, and what it answers.

use super::tolerance::Tolerance;
use crate::{Arm, CommandPair};
use proofmark_schema::Isa;
use proofmark_schema::finding::Severity;
use proofmark_schema::program::ProgramComparison;

/// Time after which a program that lists its benchmarks, or runs for the first time, is ended.
pub(super) const FIRST_TIMEOUT_NS: u64 = 600_000_000_000;

/// What is raced.
#[derive(Clone, Debug)]
pub enum ProgramSides {
    /// Pairs of commands.
    Commands(Vec<CommandPair>),
    /// The benchmarks that both arms have: revisions of a cargo project, or programs.
    Benches([Arm; 2]),
}

/// What to decide.
#[derive(Clone, Debug)]
pub struct ProgramsRequest {
    /// What is raced.
    pub sides: ProgramSides,
    /// The names of the sides, as they were asked for.
    pub names: [String; 2],
    /// How each race is run and judged.
    pub terms: ProgramTerms,
}

/// How races of programs are run and judged.
#[derive(Clone, Debug)]
pub struct ProgramTerms {
    /// Only benchmarks whose name contains this text, or matches it as a pattern.
    pub filter: Option<String>,
    /// Seconds after which no further trial of a race starts.
    pub seconds: f64,
    /// The most seconds to wait for a quiet machine before each race; 0 means no wait.
    pub quiet_seconds: f64,
    /// Whether all processes are kept on one processor.
    pub is_pinned: bool,
    /// Seed of the orders.
    pub seed: u64,
    /// Error rate of the whole comparison.
    pub alpha: f64,
    /// Differences smaller than this share are not reported.
    pub report_margin: f64,
    /// Differences smaller than this share are called the same.
    pub same_margin: f64,
    /// Highest path, for the facts of the machine.
    pub cap: Isa,
    /// What a project tolerates; without it every slowdown counts.
    pub tolerance: Option<Tolerance>,
}

/// How a comparison of programs ended.
#[derive(Clone, Debug)]
pub struct ProgramsCompared {
    /// The run that keeps its races.
    pub run: String,
    /// What was compared and what follows.
    pub comparison: ProgramComparison,
    /// The worst that follows.
    pub severity: Severity,
}
