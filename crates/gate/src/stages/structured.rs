//! Stage E: offset, graded, cancelling, needle and other structured data.

use super::Outline;
use crate::examination::Examination;
use proofmark_schema::proof::Refusal;

pub(crate) fn run(exam: &mut Examination<'_>) -> Result<(), Box<Refusal>> {
    let fillings = exam.portfolio.structured.clone();
    let limit = exam.structured_limit();
    for (n, filling) in fillings.iter().enumerate().step_by(step(&exam.outline())) {
        let inputs = exam.fill(filling, n as u64);
        exam.judge(&inputs, &filling.describe(exam.signature), limit)?;
    }
    Ok(())
}

/// The step through the list of fillings. A large case takes every third filling; the small cases
/// of the portfolio have covered all of them.
pub(crate) fn step(of: &Outline<'_>) -> usize {
    if of.is_sampled() { 3 } else { 1 }
}
