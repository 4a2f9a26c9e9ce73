//! What the decisions of a comparison amount to.

use proofmark_schema::Outcome;
use proofmark_schema::decision::{CaseDecision, Standing};
use proofmark_schema::finding::Severity;
use proofmark_schema::race::Verdict;

/// The worst that the decisions amount to.
pub(super) fn severity(decisions: &[CaseDecision]) -> Severity {
    let of = |decision: &CaseDecision| match decision.standing {
        Standing::Slower => Severity::Regression,
        Standing::Undecided | Standing::NotConfirmed(Verdict::Undecided) => Severity::Undecided,
        Standing::Faster | Standing::Same | Standing::NotConfirmed(_) | Standing::Weak => {
            Severity::Note
        }
        Standing::Refused => refused(decision),
    };
    let is_open = |decision: &CaseDecision| decision.standing == Standing::Refused;
    // A comparison in which every case was refused must not count as a pass.
    let floor = if decisions.iter().all(is_open) { Severity::Environment } else { Severity::Note };
    decisions.iter().map(of).fold(floor, Severity::max)
}

/// What a refused case amounts to.
pub(super) fn refused(decision: &CaseDecision) -> Severity {
    match decision.refused.as_ref().map(|proof| proof.outcome) {
        Some(Outcome::Wrong | Outcome::Mistrusted) => Severity::Incorrect,
        Some(Outcome::Caught) => Severity::Integrity,
        Some(Outcome::Crashed | Outcome::TimedOut) => Severity::Crashed,
        Some(Outcome::Undecided) => Severity::Undecided,
        // A case that the base does not support is no loss; one that only the other arm does not
        // support is.
        Some(Outcome::Unsupported) if decision.refused_arm == Some(0) => Severity::Note,
        _ => Severity::Environment,
    }
}
