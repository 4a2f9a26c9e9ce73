//! The slow truth of the normalised sum in f64: value and error scale.
#![forbid(unsafe_code)]

use crate::rms_norm::definition::Problem;
use crate::rms_norm::oracle;
use proofmark_contract::{Truth, Want};
use proofmark_tensor::round_to;
use proofmark_terms::DType;

/// The truth about the wanted elements of `sum` (output 0) or `y` (output 1).
///
/// The sum is rounded once, so its scale is 0: only the nearest value is right. The rest is an RMS
/// normalisation of the rounded sum.
pub(crate) fn truth(
    problem: &Problem,
    dtype: DType,
    [x, residual, w]: [&[f64]; 3],
    output: usize,
    want: &Want,
) -> Truth {
    if output == 1 {
        let sum = x.iter().zip(residual).map(|(x, residual)| round_to(dtype, x + residual));
        return oracle::truth(problem, &sum.collect::<Vec<f64>>(), w, want);
    }
    let indices = want.indices(problem.rows, problem.length);
    let mut truth = Truth::with_capacity(indices.len());
    indices.into_iter().for_each(|i| truth.push(x[i] + residual[i], 0.0));
    truth
}
