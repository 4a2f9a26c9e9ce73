//! Refusals for what a worker did instead of an answer.

use crate::examiner::Examiner;
use proofmark_arena::Fault;
use proofmark_schema::crash::Crash;
use proofmark_schema::proof::{Refusal, Stage};
use proofmark_schema::{Case, Outcome};

/// What a worker's fault means for its contender.
pub(crate) fn of_fault(
    by: &Examiner<'_>,
    case: &Case,
    stage: Option<Stage>,
    fault: Fault,
) -> Refusal {
    let of = |outcome, reason| by.refusal(case, outcome, stage, reason);
    let ended = |outcome, crash: Box<Crash>| {
        let place = crash.place.as_ref().map(|place| format!(" at {place}"));
        let reason = format!(
            "the worker ended by {}{} during {} (call {})",
            crash.cause,
            place.unwrap_or_default(),
            crash.phase,
            crash.call
        );
        Refusal { crash: Some(crash), ..of(outcome, reason) }
    };
    match fault {
        Fault::Unsupported(reason) => of(Outcome::Unsupported, reason),
        Fault::Broken(reason) => of(Outcome::Broken, reason),
        Fault::Kernel(reason) => of(Outcome::Crashed, format!("the call failed: {reason}")),
        Fault::World(reason) => of(Outcome::Skipped, format!("the environment failed: {reason}")),
        Fault::Died(crash) => ended(Outcome::Crashed, crash),
        Fault::TimedOut(crash) => ended(Outcome::TimedOut, crash),
    }
}
