//! Stage H: metamorphic laws of the op.

use crate::examination::Examination;
use crate::subject::round_values;
use proofmark_contract::{Observed, Values};
use proofmark_schema::Outcome;
use proofmark_schema::proof::Refusal;

pub(crate) fn run(exam: &mut Examination<'_>) -> Result<(), Box<Refusal>> {
    let laws = exam.by.op.laws();
    if laws.is_empty() || exam.is_empty() {
        exam.note = "no laws apply".to_owned();
        return Ok(());
    }
    // Integers keep changes representable. Ops without integer fillings get zero-mean reals.
    let portfolio = &exam.portfolio;
    let filling = portfolio.exact.first().or(portfolio.zero_mean.first()).cloned();
    let filling = filling.expect("a portfolio has zero-mean fills");
    let inputs = exam.fill(&filling, 0);
    let inputs = exam.subject.given(&inputs).into_owned();
    let before = exam.run(&inputs)?;
    for (n, law) in laws.iter().enumerate() {
        let mut changed = inputs.clone();
        if !(law.change)(exam.case, &mut changed, exam.seed(n as u64)) {
            continue;
        }
        round_values(exam.signature, &mut changed);
        if exam.contract.finite_only && !is_finite(&changed) {
            continue;
        }
        let changed = exam.subject.given(&changed).into_owned();
        let after = exam.run(&changed)?;
        let before = Observed { inputs: &inputs, outputs: &before.values };
        let after = Observed { inputs: &changed, outputs: &after.values };
        if let Err(place) = (law.holds)(exam.case, before, after) {
            let filled = filling.describe(exam.signature);
            let reason = format!("law {} ({}) broken: {place} ({filled})", law.name, law.statement);
            return Err(exam.refuse(Outcome::Wrong, reason));
        }
    }
    Ok(())
}

fn is_finite(inputs: &Values) -> bool {
    inputs.tensors.iter().flatten().all(|value| value.is_finite())
}
