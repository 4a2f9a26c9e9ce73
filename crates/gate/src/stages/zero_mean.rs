//! Stage D: zero-mean reals, with limits that do not depend on the length of sums.

use crate::examination::Examination;
use proofmark_schema::Outcome;
use proofmark_schema::proof::Refusal;

/// A bias below this many units is not material, however significant.
const MATERIAL_BIAS: f64 = 0.25;

pub(crate) fn run(exam: &mut Examination<'_>) -> Result<(), Box<Refusal>> {
    let fillings = exam.portfolio.zero_mean.clone();
    for (n, filling) in fillings.iter().enumerate() {
        let inputs = exam.fill(filling, n as u64);
        let filled = filling.describe(exam.signature);
        let (outputs, scores) = exam.judge(&inputs, &filled, exam.limits.q_max)?;
        if n == 0
            && let Some(pair) = exam.by.op.fidelity(exam.case, &inputs, &outputs.values)
        {
            exam.note = fidelity(&pair);
        }
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

/// How far what was kept resembles what was wanted: signal to quantisation noise, normalised mean
/// square error, cosine.
fn fidelity([wanted, kept]: &[Vec<f64>; 2]) -> String {
    let sum = |of: fn(f64, f64) -> f64| -> f64 {
        wanted.iter().zip(kept).map(|(&wanted, &kept)| of(wanted, kept)).sum()
    };
    let signal = sum(|wanted, _| wanted * wanted);
    let nmse = sum(|wanted, kept| (wanted - kept) * (wanted - kept)) / signal;
    let cosine = sum(|wanted, kept| wanted * kept) / (signal * sum(|_, kept| kept * kept)).sqrt();
    format!("SQNR {:.1} dB, NMSE {nmse:.2e}, cosine {cosine:.6}", -10.0 * nmse.log10())
}

#[cfg(test)]
mod tests {
    use super::fidelity;

    #[test]
    fn fidelity_is_told_in_decibels_and_as_a_cosine() {
        let told = fidelity(&[vec![3.0, 4.0], vec![3.0, 4.5]]);
        assert_eq!(told, "SQNR 20.0 dB, NMSE 1.00e-2, cosine 0.998460");
    }
}
