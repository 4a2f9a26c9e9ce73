//! Exit codes: what a script may rely on.

use proofmark_schema::Outcome;
use proofmark_schema::finding::Severity;

/// Everything passed.
pub(crate) const PASS: u8 = 0;
/// A regression.
pub(crate) const REGRESSION: u8 = 1;
/// The command was wrong.
pub(crate) const USAGE: u8 = 2;
/// A kernel is incorrect.
pub(crate) const INCORRECT: u8 = 3;
/// A cheat, an impossible speed or a broken sandbox.
pub(crate) const INTEGRITY: u8 = 4;
/// Something could not be decided.
pub(crate) const UNDECIDED: u8 = 5;
/// The environment stood in the way.
pub(crate) const ENVIRONMENT: u8 = 6;
/// A contender crashed, timed out or did not build.
pub(crate) const CRASHED: u8 = 7;
/// Our own bug.
pub(crate) const BUG: u8 = 70;

/// The code of a run's worst finding. `bench` makes tables, not decisions: a table says what could
/// not be decided, and the command still passes (5 is for commands that decide).
pub(crate) fn of_severity(severity: Option<Severity>) -> u8 {
    match severity {
        Some(Severity::Regression) => REGRESSION,
        Some(Severity::Incorrect) => INCORRECT,
        Some(Severity::Integrity) => INTEGRITY,
        Some(Severity::Crashed) => CRASHED,
        Some(Severity::Environment) => ENVIRONMENT,
        Some(Severity::Undecided | Severity::Note) | None => PASS,
    }
}

/// The code of a command that decides: an undecided result is not a pass.
pub(crate) fn of_decision(severity: Severity) -> u8 {
    match severity {
        Severity::Undecided => UNDECIDED,
        other => of_severity(Some(other)),
    }
}

/// The code of the worst of some outcomes.
pub(crate) fn of_outcomes(outcomes: impl Iterator<Item = Outcome>) -> u8 {
    let code = |outcome| match outcome {
        Outcome::Proven | Outcome::Unsupported => PASS,
        Outcome::Wrong | Outcome::Mistrusted => INCORRECT,
        Outcome::Caught => INTEGRITY,
        Outcome::Crashed | Outcome::TimedOut => CRASHED,
        Outcome::Absent | Outcome::Skipped | Outcome::Broken => ENVIRONMENT,
        Outcome::Undecided => UNDECIDED,
    };
    // A wrong kernel outranks a crashed one, which outranks the rest.
    let rank = |code: &u8| match *code {
        INTEGRITY => 4,
        INCORRECT => 3,
        CRASHED => 2,
        PASS => 0,
        _ => 1,
    };
    outcomes.map(code).max_by_key(rank).unwrap_or(PASS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_kernel_outranks_a_crash() {
        let outcomes = [Outcome::Proven, Outcome::Wrong, Outcome::Crashed, Outcome::Skipped];
        assert_eq!(of_outcomes(outcomes.into_iter()), INCORRECT);
        assert_eq!(of_outcomes([Outcome::Proven, Outcome::Unsupported].into_iter()), PASS);
        assert_eq!(of_outcomes([Outcome::Unsupported, Outcome::Broken].into_iter()), ENVIRONMENT);
        assert_eq!(of_outcomes(std::iter::empty()), PASS);
    }
}
