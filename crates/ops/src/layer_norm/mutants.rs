//! Wrong layer normalisations that the gate must refuse.

use super::definition::Problem;
use crate::flawed::{
    ALL, FINE, NARROW, Read, all_but_last, estimate, mutants, nan_as_zero, narrowed, read, read_as,
    read_densely, stale, steps, sum_in_bf16, whole_vectors, write,
};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::round_to;
use proofmark_terms::DType;

steps! { Steps, RIGHT;
    read: Read = read,
    /// The row that row `i` is computed from, of all rows.
    source: fn(usize, usize) -> usize = |i, _| i,
    /// The row whose mean and root row `i` is normalised with.
    statistics: fn(usize) -> usize = |i| i,
    mean: fn(&[f32]) -> f32 = |x| x.iter().sum::<f32>() / x.len() as f32,
    /// Of elements and their mean.
    variance: fn(&[f32], f32) -> f32 = |x, mean| squares(x, mean) / x.len() as f32,
    /// Of the variance and eps.
    inverse: fn(f32, f32) -> f32 = |variance, eps| 1.0 / (variance + eps).sqrt(),
    /// Of a normalised element, gamma and beta.
    weigh: fn(f32, f32, f32, DType) -> f32 = |normal, gamma, beta, _| normal * gamma + beta,
    /// Which element of beta a column gets, of the length of a row.
    beta_of: fn(usize, usize) -> usize = |j, _| j,
    /// Elements of a row that are written.
    written: fn(usize) -> usize = |length| length,
}

fn squares(x: &[f32], mean: f32) -> f32 {
    x.iter().map(|x| (x - mean).powi(2)).sum()
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "variance_of_squares", ALL, "mean of x² minus mean², which cancels",
        variance: |x, mean| {
            (x.iter().map(|x| x * x).sum::<f32>() / x.len() as f32 - mean * mean).max(0.0)
        };
    "variance_unbiased", ALL, "the sum is divided by the length minus one",
        variance: |x, mean| squares(x, mean) / (x.len() as f32 - 1.0);
    "variance_of_whole_vectors", ALL, "the tail's squares are dropped",
        variance: |x, mean| squares(&x[..whole_vectors(x.len())], mean) / x.len() as f32;
    "padding_in_variance", ALL, "the tail's padding counts as zeros of x",
        variance: |x, mean| {
            let padding = (x.len().next_multiple_of(16) - x.len()) as f32;
            (squares(x, mean) + padding * mean * mean) / x.len() as f32
        };
    "mean_of_whole_vectors", ALL, "the tail is dropped from the mean",
        mean: |x| x[..whole_vectors(x.len())].iter().sum::<f32>() / x.len() as f32;
    "mean_not_subtracted", ALL, "an RMS normalisation", mean: |_| 0.0;
    "mean_in_bf16", ALL, "the sum is kept in bf16",
        mean: |x| sum_in_bf16(x.iter().copied()) / x.len() as f32;
    "eps_ignored", ALL, "eps is not added", inverse: |variance, _| 1.0 / variance.sqrt();
    "eps_outside_root", ALL, "eps is added to the deviation",
        inverse: |variance, eps| 1.0 / (variance.sqrt() + eps);
    "eps_fixed", ALL, "eps is always the default",
        inverse: |variance, _| 1.0 / (variance + 1e-5).sqrt();
    "root_estimate", ALL, "the inverse root has 12 bits",
        inverse: |variance, eps| estimate(1.0 / (variance + eps).sqrt());
    "gamma_ignored", ALL, "results are not weighted", weigh: |normal, _, beta, _| normal + beta;
    "gamma_plus_one", ALL, "weighted by 1 + gamma",
        weigh: |normal, gamma, beta, _| normal * (1.0 + gamma) + beta;
    "beta_ignored", ALL, "beta is not added", weigh: |normal, gamma, _, _| normal * gamma;
    "beta_weighted", ALL, "beta is added before gamma multiplies",
        weigh: |normal, gamma, beta, _| (normal + beta) * gamma;
    "beta_off_by_one", ALL, "each element gets its neighbour's beta",
        beta_of: |j, length| (j + 1) % length;
    "rounded_before_weight", NARROW, "rounded before it is weighted",
        weigh: |normal, gamma, beta, dtype| {
            round_to(dtype, f64::from(normal)) as f32 * gamma + beta
        };
    "nan_swallowed", ALL, "NaN counts as 0", read: |x| read_as(x, nan_as_zero);
    "input_rounded_to_bf16", FINE, "x loses bits first", read: |x| read_as(x, narrowed);
    "row_stride_ignored", ALL, "rows of x are taken to lie densely", read: read_densely;
    "first_rows_statistics", ALL, "mean and root are the first row's", statistics: |_| 0;
    "last_row_stale", ALL, "the last row repeats the one before", source: stale;
    "last_element_unwritten", ALL, "the last element of a row stays", written: all_but_last;
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let Problem { rows, length, eps } = Problem::of(call.case);
    let x = (steps.read)(&call.inputs[0]);
    let weights = [1, 2].map(|i| read(&call.inputs[i]).remove(0));
    let row = |i: usize| {
        let source = (steps.source)(i, rows);
        let (x, of) = (&x[source], &x[(steps.statistics)(source)]);
        let mean = (steps.mean)(of);
        let r = (steps.inverse)((steps.variance)(of, mean), eps as f32);
        let element = |j: usize| {
            let beta = weights[1][(steps.beta_of)(j, length)];
            (steps.weigh)((x[j] - mean) * r, weights[0][j], beta, call.case.dtype)
        };
        (0..(steps.written)(length)).map(element).collect()
    };
    let y: Vec<Vec<f32>> = (0..rows).map(row).collect();
    write(&mut call.outputs[0], &y)
}
