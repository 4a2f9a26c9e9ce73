//! A whole check as data: what a report shows and an exit code follows from.

use super::{Judgement, Origin, Target, TargetWord};
use crate::exit_severity;
use proofmark_schema::decision::CaseDecision;
use proofmark_schema::finding::Severity;
use proofmark_schema::quantity::Interval;
use proofmark_schema::{Case, ContenderId};

/// One contender on one case.
#[derive(Clone, Debug)]
pub struct CheckedCase {
    /// Where it stands.
    pub decision: CaseDecision,
    /// The contender of the new side.
    pub contender: ContenderId,
    /// What the rules make of it.
    pub judgement: Judgement,
}

/// One target on one case.
#[derive(Clone, Debug)]
pub struct CheckedTarget {
    /// The target.
    pub target: Target,
    /// The case.
    pub case: Case,
    /// The contender.
    pub contender: ContenderId,
    /// Threads it could use.
    pub threads: usize,
    /// What was measured.
    pub interval: Option<Interval>,
    /// Where it stands.
    pub word: TargetWord,
}

/// How a check ended.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The side that was compared with, as it was asked for.
    pub base: String,
    /// The other.
    pub new: String,
    /// Where the rules come from, if the base is a revision.
    pub origin: Option<Origin>,
    /// Error rate of the whole check.
    pub alpha: f64,
    /// The runs that keep its races.
    pub runs: Vec<String>,
    /// Every case.
    pub cases: Vec<CheckedCase>,
    /// Every target on every case it is about.
    pub targets: Vec<CheckedTarget>,
    /// What is worth knowing besides.
    pub notes: Vec<String>,
}

impl Checked {
    /// The worst severity of all cases and targets. A change that fails and loosens what judges it
    /// is an attempt at forgery until a person has looked at it.
    pub fn severity(&self) -> Severity {
        if self.is_forgery() { Severity::Integrity } else { self.judged() }
    }

    /// Whether the change fails by the rules of its base and loosens them.
    pub fn is_forgery(&self) -> bool {
        let is_loosened = self.origin.as_ref().is_some_and(Origin::is_loosened);
        is_loosened && self.judged() >= Severity::Regression
    }

    /// What the rules say of all cases and targets.
    fn judged(&self) -> Severity {
        let cases = self.cases.iter().filter_map(|case| exit_severity(&case.judgement.findings));
        let targets = self.targets.iter().map(|target| match target.word {
            TargetWord::Missed => Severity::Regression,
            TargetWord::Undecided => Severity::Undecided,
            TargetWord::Met | TargetWord::Unmeasured => Severity::Note,
        });
        // A check that compared nothing at all must not count as a pass.
        let is_empty = self.cases.iter().all(|case| case.decision.last().is_none());
        let floor = if is_empty { Severity::Environment } else { Severity::Note };
        cases.chain(targets).fold(floor, Severity::max)
    }
}
