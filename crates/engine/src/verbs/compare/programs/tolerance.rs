//! What the decisions amount to, and what a project lets pass.

use crate::Day;
use proofmark_analyze::is_match;
use proofmark_analyze::policy::Accept;
use proofmark_schema::decision::Standing;
use proofmark_schema::finding::Severity;
use proofmark_schema::program::{ProgramDecision, ProgramOutcome};
use proofmark_schema::race::Verdict;

/// What a project tolerates.
#[derive(Clone, Debug)]
pub struct Tolerance {
    /// A ratio that is higher by more than this share is a regression.
    pub slower: f64,
    /// Changes that are explained.
    pub accepts: Vec<Accept>,
    /// The day that entries expire by.
    pub today: Day,
}

impl Tolerance {
    /// Why a benchmark passes although it is slower or undecided, if it does.
    pub(super) fn excuse(&self, decision: &ProgramDecision) -> Option<String> {
        let ratio = decision.last()?.ratio;
        let percent = 100.0 * self.slower;
        let name = &decision.name;
        let accepted = self.accepts.iter().find(|accept| {
            let holds = accept.expires.is_none_or(|day| self.today <= day);
            holds && is_match(&accept.case, name) && ratio.estimate <= 1.0 + accept.up_to / 100.0
        });
        match decision.standing {
            Standing::Slower if ratio.estimate <= 1.0 + self.slower => {
                Some(format!("{name}: slower, within the limit of {percent} %"))
            }
            Standing::Slower => {
                accepted.map(|accept| format!("{name}: slower, accepted: {}", accept.reason))
            }
            Standing::Undecided | Standing::NotConfirmed(Verdict::Undecided)
                if ratio.high <= 1.0 + self.slower =>
            {
                Some(format!("{name}: undecided, but below the limit of {percent} % in any case"))
            }
            _ => None,
        }
    }
}

/// The worst that the decisions amount to.
pub(super) fn severity(
    decisions: &[ProgramDecision],
    excuse: &dyn Fn(&ProgramDecision) -> Option<String>,
) -> Severity {
    let of = |decision: &ProgramDecision| match (decision.outcome, decision.standing) {
        (ProgramOutcome::Differs, _) => Severity::Incorrect,
        (ProgramOutcome::Crashed, _) => Severity::Crashed,
        _ if excuse(decision).is_some() => Severity::Note,
        (_, Standing::Slower) => Severity::Regression,
        (_, Standing::Undecided | Standing::NotConfirmed(Verdict::Undecided)) => {
            Severity::Undecided
        }
        (_, Standing::Refused) => Severity::Environment,
        _ => Severity::Note,
    };
    // A comparison of nothing must not count as a pass.
    let floor = if decisions.is_empty() { Severity::Environment } else { Severity::Note };
    decisions.iter().map(of).fold(floor, Severity::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_schema::decision::Round;
    use proofmark_schema::program::{Harness, ProgramRuling};
    use proofmark_schema::quantity::Interval;

    fn decision(outcome: ProgramOutcome, standing: Standing) -> ProgramDecision {
        ProgramDecision {
            name: "t/b".to_owned(),
            harness: Harness::Criterion,
            outcome,
            standing,
            screen: None,
            confirmation: None,
            fault: None,
            output: None,
        }
    }

    #[test]
    fn a_change_of_output_outranks_a_crash_which_outranks_a_slowdown() {
        let slower = decision(ProgramOutcome::Unproven, Standing::Slower);
        let crashed = decision(ProgramOutcome::Crashed, Standing::Refused);
        let differs = decision(ProgramOutcome::Differs, Standing::Refused);
        let same = decision(ProgramOutcome::Agrees, Standing::Same);
        let graded = |decisions: &[ProgramDecision]| severity(decisions, &|_| None);
        assert_eq!(graded(std::slice::from_ref(&same)), Severity::Note);
        assert_eq!(graded(&[same.clone(), slower.clone()]), Severity::Regression);
        assert_eq!(graded(&[slower, crashed.clone()]), Severity::Crashed);
        assert_eq!(graded(&[differs, crashed, same]), Severity::Incorrect);
        assert_eq!(graded(&[]), Severity::Environment);
    }

    fn ruled(standing: Standing, estimate: f64, high: f64) -> ProgramDecision {
        let ratio = Interval { estimate, low: 0.9, high, confidence: 0.99 };
        let screen = ProgramRuling {
            round: Round::Screen,
            ratio,
            verdict: Verdict::Undecided,
            trials: 6,
            processes: 24,
            looks: vec![6],
            alpha: 0.01,
            report_margin: 0.005,
            same_margin: 0.01,
            undecided_because: None,
            detectable: None,
            p_value: None,
            seconds: 1.0,
        };
        ProgramDecision { screen: Some(screen), ..decision(ProgramOutcome::Unproven, standing) }
    }

    #[test]
    fn a_project_tolerates_what_lies_within_its_limit_or_is_explained() {
        let day = Day { year: 2026, month: 11, day: 18 };
        let accept = Accept {
            case: "t/*".to_owned(),
            contender: "*".to_owned(),
            up_to: 20.0,
            reason: "safer".to_owned(),
            date: day,
            expires: Some(day),
            line: 1,
        };
        let tolerance = |accepts, day| Tolerance { slower: 0.05, accepts, today: day };
        let none = tolerance(Vec::new(), day);
        let later = Day { day: 19, ..day };
        for (tolerance, decision, is_excused) in [
            (&none, ruled(Standing::Slower, 1.03, 1.04), true),
            (&none, ruled(Standing::Slower, 1.10, 1.12), false),
            (&none, ruled(Standing::Undecided, 1.0, 1.04), true),
            (&none, ruled(Standing::Undecided, 1.0, 1.06), false),
            (&tolerance(vec![accept.clone()], day), ruled(Standing::Slower, 1.10, 1.12), true),
            (&tolerance(vec![accept.clone()], day), ruled(Standing::Slower, 1.30, 1.32), false),
            (&tolerance(vec![accept], later), ruled(Standing::Slower, 1.10, 1.12), false),
        ] {
            let excuse = tolerance.excuse(&decision);
            assert_eq!(excuse.is_some(), is_excused, "{decision:?} {excuse:?}");
        }
    }
}
