//! Stage I: could this test have failed? A pass that proves nothing is MISTRUSTED.

use super::Outline;
use crate::compare::score;
use crate::examination::Examination;
use proofmark_contract::Values;
use proofmark_schema::Outcome;
use proofmark_schema::proof::Refusal;
use proofmark_tensor::{mix, round_to};

/// Input elements that are changed one by one.
const SAMPLES: u64 = 4;

pub(crate) fn run(exam: &mut Examination<'_>) -> Result<(), Box<Refusal>> {
    if exam.is_empty() {
        exam.note = "nothing is written".to_owned();
        return Ok(());
    }
    let filling = exam.portfolio.zero_mean.first().cloned();
    let filling = filling.expect("a portfolio has zero-mean fills");
    let inputs = exam.fill(&filling, 0);
    zeros_must_fail(exam, &inputs)?;
    for (operand, at) in changes(&exam.outline()) {
        changes_must_show(exam, &inputs, operand, at)?;
    }
    Ok(())
}

/// The elements that are changed: a few of each operand that takes any reals.
pub(crate) fn changes(of: &Outline<'_>) -> Vec<(usize, usize)> {
    let samples = if of.is_sampled() { 1 } else { SAMPLES };
    let mut changes = Vec::new();
    for (operand, described) in of.signature.operands().iter().enumerate() {
        if !described.role.is_read() || described.is_empty() || described.only.is_some() {
            continue;
        }
        let at = |n| mix(of.rules.seed, 301 + operand as u64, n) as usize % described.len();
        changes.extend((0..samples).map(|n| (operand, at(n))));
    }
    changes
}

/// An output of zeros must not pass on the very data that the contender passed on.
fn zeros_must_fail(exam: &Examination<'_>, inputs: &Values) -> Result<(), Box<Refusal>> {
    for (k, operand) in exam.signature.outputs().iter().enumerate() {
        let want = exam.want(k);
        let truth = exam.truth(inputs, k, &want)?;
        let zeros = vec![0.0; truth.value.len()];
        // Where the truth is all zeros (an empty sum), zeros are the right answer.
        if truth.value.iter().all(|&value| value == 0.0) {
            continue;
        }
        let score = score(operand.dtype, exam.measure(), &truth, &zeros, operand.layout().cols());
        if score.errors.q_max <= exam.limits.q_max {
            let reason = format!("an all-zero `{}` would pass", operand.name);
            return Err(exam.refuse(Outcome::Mistrusted, reason));
        }
    }
    Ok(())
}

/// Changes one input element; the output must move as the oracle says, and still be right.
fn changes_must_show(
    exam: &mut Examination<'_>,
    inputs: &Values,
    operand: usize,
    at: usize,
) -> Result<(), Box<Refusal>> {
    let mut changed = inputs.clone();
    let value = &mut changed.tensors[operand][at];
    let described = &exam.signature.operands()[operand];
    *value = round_to(described.dtype, if *value == 0.0 { 1.0 } else { -2.0 * *value });
    let index = described.layout().index_of(at);
    let filled = format!("one element changed: {}{index:?}", described.name);
    let limit = exam.structured_limit();
    exam.judge(&changed, &filled, limit)?;
    Ok(())
}
