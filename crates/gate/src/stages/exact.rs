//! Stage C: inputs on which every right kernel is exact, tolerance 0.

use crate::examination::Examination;
use proofmark_schema::Outcome;
use proofmark_schema::proof::Refusal;

pub(crate) fn run(exam: &mut Examination<'_>) -> Result<(), Box<Refusal>> {
    let fillings = exam.portfolio.exact.clone();
    if fillings.is_empty() {
        exam.note = "the op has no inputs on which every right kernel is exact".to_owned();
        return Ok(());
    }
    let kept = if exam.is_sampled() { 1 } else { fillings.len() };
    for (n, filling) in fillings[..kept].iter().enumerate() {
        let inputs = exam.fill(filling, n as u64);
        let filled = filling.describe(exam.signature);
        let (outputs, _) = exam.judge(&inputs, &filled, 0.0)?;
        let audit = exam.by.op.audit(exam.case, &inputs, &outputs.values, exam.seed(n as u64));
        match audit {
            Some(Err(reason)) => {
                return Err(exam.refuse(Outcome::Wrong, format!("{reason} ({filled})")));
            }
            Some(Ok(())) => exam.note = "whole output audited".to_owned(),
            None => {}
        }
    }
    Ok(())
}
