//! Wrong normalised sums that the gate must refuse.

use crate::flawed::{
    ALL, FINE, NARROW, Read, mutants, narrowed, read, read_densely, stale, steps, sum_in_bf16,
    whole_vectors, write,
};
use crate::rms_norm::definition::Problem;
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::round_to;
use proofmark_terms::DType;

steps! { Steps, RIGHT;
    residual: Read = read,
    /// The row of residual that is added to row `i`, of all rows.
    source: fn(usize, usize) -> usize = |i, _| i,
    add: fn(f32, f32) -> f32 = |x, residual| x + residual,
    /// What is normalised, of x and the sum: the sum as it was rounded.
    normalised: fn(&[f32], &[f32], DType) -> Vec<f32> = |_, sum, dtype| {
        sum.iter().map(|&sum| round_to(dtype, f64::from(sum)) as f32).collect()
    },
    squares: fn(&[f32]) -> f32 = squares,
    /// Of the squares, the length and eps.
    inverse: fn(f32, f32, f32) -> f32 = |squares, n, eps| 1.0 / (squares / n + eps).sqrt(),
    weight: fn(&Problem, &[f32], usize) -> f32 = weight,
    /// What is written as the sum, given it, x and y.
    written: fn(Vec<f32>, &[f32], &[f32]) -> Vec<f32> = |sum, _, _| sum,
}

fn squares(x: &[f32]) -> f32 {
    x.iter().map(|x| x * x).sum()
}

fn weight(problem: &Problem, w: &[f32], i: usize) -> f32 {
    if problem.is_gemma { 1.0 + w[i] } else { w[i] }
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "sum_not_rounded", NARROW, "y is made of the sum before it was rounded",
        normalised: |_, sum, _| sum.to_vec();
    "x_normalised", ALL, "x is normalised, not the sum", normalised: |x, _, _| x.to_vec();
    "residual_subtracted", ALL, "the residual has the other sign", add: |x, residual| x - residual;
    "sum_in_bf16", FINE, "the sum loses bits", add: |x, residual| narrowed(x + residual);
    "nan_swallowed", ALL, "a NaN in x counts as 0",
        add: |x, residual| if x.is_nan() { residual } else { x + residual };
    "sum_is_x", ALL, "x is written instead of the sum", written: |_, x, _| x.to_vec();
    "sum_is_result", ALL, "y is written instead of the sum", written: |_, _, y| y.to_vec();
    "last_sum_unwritten", ALL, "the last element of a row's sum stays",
        written: |mut sum, _, _| {
            sum.pop();
            sum
        };
    "last_residual_stale", ALL, "the last row gets the residual before its own", source: stale;
    "first_residual_for_all", ALL, "every row gets the first residual", source: |_, _| 0;
    "residual_stride_ignored", ALL, "its rows are taken to lie densely", residual: read_densely;
    "tail_dropped_from_squares", ALL, "only whole vectors of 16 count",
        squares: |x| squares(&x[..whole_vectors(x.len())]);
    "bf16_accumulate", ALL, "the sum of squares is kept in bf16",
        squares: |x| sum_in_bf16(x.iter().map(|x| x * x));
    "eps_ignored", ALL, "eps is not added",
        inverse: |squares, length, _| 1.0 / (squares / length).sqrt();
    "eps_outside_root", ALL, "eps is added to the root, not to the mean",
        inverse: |squares, length, eps| 1.0 / ((squares / length).sqrt() + eps);
    "eps_fixed", ALL, "eps is always the default",
        inverse: |squares, length, _| 1.0 / (squares / length + 1e-6).sqrt();
    "weight_off_by_one", ALL, "each element gets its neighbour's weight",
        weight: |problem, w, i| weight(problem, w, (i + 1) % w.len());
    "gemma_as_llama", ALL, "the variant is ignored", weight: |_, w, i| w[i];
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let (x, residual) = (read(&call.inputs[0]), (steps.residual)(&call.inputs[1]));
    let w = read(&call.inputs[2]).remove(0);
    let (mut sums, mut results) = (Vec::new(), Vec::new());
    for (i, x) in x.iter().enumerate() {
        let residual = &residual[(steps.source)(i, problem.rows)];
        let sum: Vec<f32> = x.iter().zip(residual).map(|(&x, &r)| (steps.add)(x, r)).collect();
        let row = (steps.normalised)(x, &sum, call.case.dtype);
        let r = (steps.inverse)((steps.squares)(&row), row.len() as f32, problem.eps as f32);
        let of = |j: usize| row[j] * r * (steps.weight)(&problem, &w, j);
        let y: Vec<f32> = (0..row.len()).map(of).collect();
        sums.push((steps.written)(sum, x, &y));
        results.push(y);
    }
    write(&mut call.outputs[0], &sums)?;
    write(&mut call.outputs[1], &results)
}
