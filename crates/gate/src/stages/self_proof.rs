//! Stage J: errors planted into this very output must be found.

use crate::compare::score;
use crate::examination::Examination;
use proofmark_schema::proof::Refusal;
use proofmark_schema::{DType, Outcome};
use proofmark_tensor::{mix, round_to};

/// Number of inputs that are tried before a limit is called too loose. A sum of many terms of both
/// signs can come out near 0, where no part of it exceeds its rounding error. An op that has only
/// one such result has no larger one to plant an error in.
const ATTEMPTS: u64 = 8;

/// What is known of an output that an error is planted in.
struct Ground {
    dtype: DType,
    cols: usize,
    seed: u64,
    /// The part of an element that counts as material.
    part: f64,
}

/// Plants an error into a right output.
type Plant = fn(&mut [f64], &Ground);

/// The errors that are planted, as a slip in a kernel would make them.
const PLANTS: [(&str, Plant); 6] = [
    ("one element a little off", |out, of| {
        let at = largest_near(out, of.seed);
        out[at] = round_to(of.dtype, out[at] * (1.0 + 2.0 * of.part));
    }),
    ("one element of the other sign", |out, of| {
        let at = largest_near(out, of.seed);
        out[at] = -out[at];
    }),
    ("two neighbours swapped", |out, of| {
        let at = mix(of.seed, 1, 0) as usize % out.len();
        out.swap(at, (at + 1) % out.len());
    }),
    ("the last element zero", |out, _| out[out.len() - 1] = 0.0),
    ("the last row stale", |out, of| {
        if out.len() >= 2 * of.cols {
            out.copy_within(out.len() - 2 * of.cols..out.len() - of.cols, out.len() - of.cols);
        }
    }),
    ("one element not a number", |out, of| {
        let at = mix(of.seed, 2, 0) as usize % out.len();
        out[at] = f64::NAN;
    }),
];

pub(crate) fn run(exam: &mut Examination<'_>) -> Result<(), Box<Refusal>> {
    if exam.is_empty() {
        exam.note = "nothing is written".to_owned();
        return Ok(());
    }
    let mut missed = String::new();
    for attempt in 0..ATTEMPTS {
        match plant_all(exam, attempt)? {
            Ok(planted) => {
                exam.note = format!("{planted} planted errors found");
                return Ok(());
            }
            Err(reason) => missed = reason,
        }
    }
    Err(exam.refuse(Outcome::Mistrusted, missed))
}

/// Runs once and plants each error into each output: how many were found, or which was not.
fn plant_all(
    exam: &mut Examination<'_>,
    attempt: u64,
) -> Result<Result<usize, String>, Box<Refusal>> {
    let filling = exam.portfolio.zero_mean.first().cloned();
    let inputs = exam.fill(&filling.expect("a portfolio has zero-mean fills"), attempt);
    let outputs = exam.run(&inputs)?;
    let terms = exam.by.op.reduction(exam.case) as f64;
    let mut planted = 0;
    for (k, operand) in exam.signature.outputs().iter().enumerate() {
        if operand.is_empty() {
            continue;
        }
        let want = exam.want(k);
        let truth = exam.truth(&inputs, k, &want)?;
        let layout = operand.layout();
        let indices = want.indices(layout.rows(), layout.cols());
        let got: Vec<f64> = indices.iter().map(|&i| outputs.values[k][i]).collect();
        let cols = want.cols(layout.cols()).len();
        let (dtype, part) = (operand.dtype, material(operand.dtype, exam.measure().unit, terms));
        for (n, (name, plant)) in PLANTS.iter().enumerate() {
            let mut bad = got.clone();
            plant(&mut bad, &Ground { dtype, cols, seed: exam.seed(n as u64), part });
            // A plant that lands on an equal neighbour changes nothing.
            if !is_material(&got, &bad, part) {
                continue;
            }
            let score = score(dtype, exam.measure(), &truth, &bad, cols);
            planted += 1;
            if score.errors.q_max <= exam.limits.q_max {
                return Ok(Err(format!("`{}` would pass with {name}", operand.name)));
            }
        }
    }
    Ok(Ok(planted))
}

/// The part of a result that counts as material: a two-thousandth (a twentieth for 16-bit types).
/// Beyond some 270,000 terms of both signs it is what right sums in this unit lose. It does not
/// depend on the op's scale or limits, so that one that is too loose is found.
fn material(dtype: DType, unit: f64, terms: f64) -> f64 {
    let usual: f64 = if dtype.unit() > 1e-4 { 0.05 } else { 5e-4 };
    usual.max((16.0 * unit * terms.sqrt()).min(0.05))
}

/// Whether an element moved by a material part of the output's size. The yardstick is the output
/// itself, not the limit, so that a limit too loose for the data is found out.
fn is_material(got: &[f64], bad: &[f64], part: f64) -> bool {
    let mean_square = got.iter().map(|value| value * value).sum::<f64>() / got.len() as f64;
    let moved = |(a, b): (&f64, &f64)| b.is_nan() || (a - b).abs() > part * mean_square.sqrt();
    got.iter().zip(bad).any(moved)
}

/// The largest magnitude among a few positions drawn from the seed.
fn largest_near(out: &[f64], seed: u64) -> usize {
    let drawn = (0..16).map(|i| mix(seed, 3, i) as usize % out.len());
    let finite = drawn.filter(|&at| out[at].is_finite());
    finite.max_by(|&a, &b| out[a].abs().total_cmp(&out[b].abs())).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_very_long_sums_make_more_of_an_error_immaterial() {
        let single = DType::F32.unit();
        let part = |terms| material(DType::F32, single, terms);
        assert_eq!((part(1.0), part(4096.0), part(262_144.0)), (5e-4, 5e-4, 5e-4));
        assert!((part(16_777_216.0) - 16.0 * single * 4096.0).abs() < 1e-12);
        assert_eq!(material(DType::Bf16, single, 16_777_216.0), 0.05);
        // Sums in bf16 lose all of it at once; no plant is more than a tenth.
        assert_eq!(material(DType::F32, DType::Bf16.unit(), 4096.0), 0.05);
    }
}
