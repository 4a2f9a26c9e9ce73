//! Refusals: what went wrong, at which element, from which inputs, and how to see it again.

use crate::compare::Score;
use crate::examiner::{Examination, Examiner};
use crate::subject::Outputs;
use proofmark_arena::Fault;
use proofmark_contract::{Operand, Values};
use proofmark_schema::proof::{Refusal, Stage, Worst};
use proofmark_schema::{Case, Outcome};

/// A run that broke a limit.
pub(crate) struct Judgement<'a> {
    pub(crate) inputs: &'a Values,
    pub(crate) filled: &'a str,
    pub(crate) outputs: &'a Outputs,
    pub(crate) k: usize,
    pub(crate) limit: f64,
}

/// What a worker's fault means for its contender.
pub(crate) fn of_fault(
    by: &Examiner<'_>,
    case: &Case,
    stage: Option<Stage>,
    fault: Fault,
) -> Refusal {
    let of = |outcome, reason| by.refusal(case, outcome, stage, reason);
    match fault {
        Fault::Unsupported(reason) => of(Outcome::Unsupported, reason),
        Fault::Broken(reason) => of(Outcome::Broken, reason),
        Fault::Kernel(reason) => of(Outcome::Crashed, format!("the call failed: {reason}")),
        Fault::World(reason) => of(Outcome::Skipped, format!("the environment failed: {reason}")),
        Fault::Died(crash) | Fault::TimedOut(crash) => {
            let place = crash.place.as_ref().map(|place| format!(" at {place}"));
            let reason = format!(
                "the worker ended by {}{} during {} (call {})",
                crash.cause,
                place.unwrap_or_default(),
                crash.phase,
                crash.call
            );
            let timed_out =
                ["cpu time", "wall time", "no progress"].contains(&crash.cause.as_str());
            let outcome = if timed_out { Outcome::TimedOut } else { Outcome::Crashed };
            Refusal { crash: Some(crash), ..of(outcome, reason) }
        }
    }
}

/// The refusal of an output by its worst element.
pub(crate) fn of_worst(
    exam: &Examination<'_>,
    judgement: &Judgement<'_>,
    score: &Score,
    class: Option<&'static str>,
) -> Refusal {
    let Judgement { inputs, filled, outputs, k, limit } = *judgement;
    let operand = &exam.signature.outputs()[k];
    let layout = operand.layout();
    let want = exam.want(k);
    let flat = want.indices(layout.rows(), layout.cols())[score.worst];
    let truth = exam.by.op.oracle(exam.case, inputs, k, &want);
    let worst = Worst {
        output: operand.name.to_owned(),
        index: layout.index_of(flat),
        got: outputs.values[k][flat],
        want: truth.value[score.worst],
        q: score.errors.q_max,
        limit,
        inputs: filled.to_owned(),
        nearby: nearby(exam, inputs, operand, flat),
    };
    let mut reason = format!(
        "{}{:?} is {:e}, exact {:e}: error {:.3e} times the unit, limit {:.1} ({filled})",
        worst.output, worst.index, worst.got, worst.want, worst.q, limit
    );
    if let Some(class) = class {
        reason.push_str(&format!("; it behaves like {class}"));
    }
    let refusal = exam.by.refusal(exam.case, Outcome::Wrong, Some(exam.stage), reason);
    Refusal { worst: Some(Box::new(worst)), ..refusal }
}

/// The values of each read operand that lie at, or in the row or column of, an output element.
fn nearby(
    exam: &Examination<'_>,
    inputs: &Values,
    output: &Operand,
    flat: usize,
) -> Vec<(String, String)> {
    const SHOWN: usize = 4;
    let cols = output.layout().cols().max(1);
    let (row, col) = (flat / cols, flat % cols);
    let mut shown = Vec::new();
    for (i, operand) in exam.signature.operands().iter().enumerate() {
        if !operand.role.is_read() || operand.is_empty() {
            continue;
        }
        let layout = operand.layout();
        let start = if layout.cols() == cols {
            row.min(layout.rows() - 1) * cols + col
        } else {
            row.min(layout.rows() - 1) * layout.cols()
        };
        let values: Vec<String> =
            inputs.of(i)[start..].iter().take(SHOWN).map(|value| format!("{value:e}")).collect();
        let index = layout.index_of(start);
        shown.push((format!("{}{index:?}…", operand.name), values.join(" ")));
    }
    shown
}
