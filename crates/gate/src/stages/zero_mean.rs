//! Stage D: zero-mean reals, with limits that do not depend on the length of sums.

use crate::examiner::Examination;
use proofmark_schema::Outcome;
use proofmark_schema::proof::Refusal;

/// A bias below this many units is not material, however significant.
const MATERIAL_BIAS: f64 = 0.25;

pub(crate) fn run(exam: &mut Examination<'_>) -> Result<(), Box<Refusal>> {
    let fillings = exam.portfolio.zero_mean.clone();
    for (n, filling) in fillings.iter().enumerate() {
        let inputs = exam.fill(filling, n as u64);
        let filled = filling.describe(exam.signature);
        let (_, scores) = exam.judge(&inputs, &filled, exam.limits.q_max)?;
        for (score, operand) in scores.iter().zip(exam.signature.outputs()) {
            let name = operand.name;
            let rms = score.errors.q_rms;
            if rms > exam.limits.q_rms {
                let limit = exam.limits.q_rms;
                let reason = format!(
                    "root mean square error of `{name}` is {rms:.2} units, limit {limit} ({filled})"
                );
                return Err(exam.refuse(Outcome::Wrong, reason));
            }
            let (mean, sigmas) = (score.mean_signed, score.errors.bias);
            if sigmas.abs() > exam.limits.bias && mean.abs() > MATERIAL_BIAS {
                let reason = format!(
                    "errors of `{name}` lean {} zero by {:.2} units, {:.0} sigmas ({filled})",
                    if mean < 0.0 { "towards" } else { "away from" },
                    mean.abs(),
                    sigmas.abs()
                );
                return Err(exam.refuse(Outcome::Wrong, reason));
            }
        }
    }
    Ok(())
}
