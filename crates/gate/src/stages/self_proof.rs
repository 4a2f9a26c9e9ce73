//! Stage J: errors planted into this very output must be found.

use crate::compare::score;
use crate::examiner::Examination;
use proofmark_schema::proof::Refusal;
use proofmark_schema::{DType, Outcome};
use proofmark_tensor::{mix, round_to};

/// Plants an error into a right output.
type Plant = fn(&mut [f64], cols: usize, dtype: DType, seed: u64);

/// The errors that are planted, as a slip in a kernel would make them.
const PLANTS: [(&str, Plant); 6] = [
    ("one element a little off", |out, _, dtype, seed| {
        let at = largest_near(out, seed);
        out[at] = round_to(dtype, out[at] * if dtype.unit() > 1e-4 { 1.1 } else { 1.001 });
    }),
    ("one element of the other sign", |out, _, _, seed| {
        let at = largest_near(out, seed);
        out[at] = -out[at];
    }),
    ("two neighbours swapped", |out, _, _, seed| {
        let at = mix(seed, 1, 0) as usize % out.len();
        out.swap(at, (at + 1) % out.len());
    }),
    ("the last element zero", |out, _, _, _| out[out.len() - 1] = 0.0),
    ("the last row stale", |out, cols, _, _| {
        if out.len() >= 2 * cols {
            out.copy_within(out.len() - 2 * cols..out.len() - cols, out.len() - cols);
        }
    }),
    ("one element not a number", |out, _, _, seed| {
        let at = mix(seed, 2, 0) as usize % out.len();
        out[at] = f64::NAN;
    }),
];

pub(crate) fn run(exam: &mut Examination<'_>) -> Result<(), Box<Refusal>> {
    if exam.is_empty() {
        exam.note = "nothing is written".to_owned();
        return Ok(());
    }
    let filling = exam.portfolio.zero_mean.first().cloned();
    let inputs = exam.fill(&filling.expect("a portfolio has zero-mean fills"), 0);
    let outputs = exam.run(&inputs)?;
    let mut planted = 0;
    for (k, operand) in exam.signature.outputs().iter().enumerate() {
        if operand.is_empty() {
            continue;
        }
        let want = exam.want(k);
        let truth = exam.by.op.oracle(exam.case, &inputs, k, &want);
        let layout = operand.layout();
        let indices = want.indices(layout.rows(), layout.cols());
        let got: Vec<f64> = indices.iter().map(|&i| outputs.values[k][i]).collect();
        let cols = want.cols(layout.cols()).len();
        for (n, (name, plant)) in PLANTS.iter().enumerate() {
            let mut bad = got.clone();
            plant(&mut bad, cols, operand.dtype, exam.seed(n as u64));
            // A plant that lands on an equal neighbour changes nothing.
            if !is_material(&got, &bad, operand.dtype) {
                continue;
            }
            let score = score(operand.dtype, exam.measure(), &truth, &bad, cols);
            planted += 1;
            if score.errors.q_max <= exam.limits.q_max {
                let reason = format!("`{}` would pass with {name}", operand.name);
                return Err(exam.refuse(Outcome::Mistrusted, reason));
            }
        }
    }
    exam.note = format!("{planted} planted errors found");
    Ok(())
}

/// Whether an element moved by a material part of the output's size. The yardstick is the output
/// itself, not the limit, so that a limit too loose for the data is found out.
fn is_material(got: &[f64], bad: &[f64], dtype: DType) -> bool {
    let mean_square = got.iter().map(|value| value * value).sum::<f64>() / got.len() as f64;
    let part = if dtype.unit() > 1e-4 { 0.05 } else { 5e-4 };
    let moved = |(a, b): (&f64, &f64)| b.is_nan() || (a - b).abs() > part * mean_square.sqrt();
    got.iter().zip(bad).any(moved)
}

/// The largest magnitude among a few positions drawn from the seed.
fn largest_near(out: &[f64], seed: u64) -> usize {
    let drawn = (0..16).map(|i| mix(seed, 3, i) as usize % out.len());
    let finite = drawn.filter(|&at| out[at].is_finite());
    finite.max_by(|&a, &b| out[a].abs().total_cmp(&out[b].abs())).unwrap_or(0)
}
