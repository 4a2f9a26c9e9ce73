//! Stage A: every output element is written, inputs are unchanged.

use crate::examination::Examination;
use crate::subject::Outputs;
use proofmark_contract::Role;
use proofmark_schema::Outcome;
use proofmark_schema::proof::Refusal;

pub(crate) fn run(exam: &mut Examination<'_>) -> Result<(), Box<Refusal>> {
    let filling = exam.portfolio.zero_mean.first().expect("a portfolio has zero-mean fills");
    let inputs = exam.fill(filling, 0);
    // Each run is poisoned with another pattern: an element that still holds the poison of both
    // runs was not written; one that holds it by chance differs in the other run.
    let first = exam.run(&inputs)?;
    let second = exam.run(&inputs)?;
    if let Some(name) = exam.subject.inputs_intact(&inputs) {
        return Err(exam.refuse(Outcome::Wrong, format!("input `{name}` was changed")));
    }
    match unwritten(exam, &first, &second) {
        Some(reason) => Err(exam.refuse(Outcome::Wrong, reason)),
        None => Ok(()),
    }
}

/// Elements that differ between two runs on the same inputs and are NaN in both (for integers:
/// that differ at all) held poison. A contender that is merely not reproducible writes numbers.
fn unwritten(exam: &Examination<'_>, first: &Outputs, second: &Outputs) -> Option<String> {
    for (k, operand) in exam.signature.outputs().iter().enumerate() {
        if operand.role != Role::Output {
            continue;
        }
        let is_float = operand.dtype.is_float();
        let left: Vec<usize> = (0..operand.len())
            .filter(|&i| first.differs(second, k, i))
            .filter(|&i| !is_float || first.values[k][i].is_nan() && second.values[k][i].is_nan())
            .collect();
        if let Some(&index) = left.first() {
            let index = operand.layout().index_of(index);
            let (name, count, all) = (operand.name, left.len(), operand.len());
            return Some(format!(
                "{count} of {all} elements of `{name}` unwritten, first {index:?}"
            ));
        }
    }
    None
}
