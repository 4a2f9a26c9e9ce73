//! The slow truth of layer normalisation in f64: value and error scale.
#![forbid(unsafe_code)]

use super::definition::Problem;
use proofmark_contract::{Truth, Want};

/// Half of the least f32 over its unit roundoff, doubled: an intermediate product that is
/// subnormal is off by an absolute amount, whatever its size.
const UNDERFLOW: f64 = 1.0 / (1u128 << 125) as f64;

/// The truth about the wanted elements, in two passes over each row of `x`.
///
/// The scale is `|γ|·r·(|x−μ|·(4 + g(d)/2) + mean|x|·g(d)) + |β|` with `g(n) = 1 + √n/4`: r is the
/// root of a sum of d terms, hence half of its error, and four roundings follow; the mean is a
/// sum of d terms, whose error is relative to their magnitudes and moves every element; one term
/// is its own mean, without error. What an underflowing product loses is multiplied by the weight
/// and added.
pub(crate) fn truth(problem: &Problem, [x, gamma, beta]: [&[f64]; 3], want: &Want) -> Truth {
    let columns = want.cols(problem.length);
    let rows = want.rows(problem.rows);
    let length = problem.length as f64;
    let growth = if problem.length == 1 { 0.0 } else { 1.0 + length.sqrt() / 4.0 };
    let mut truth = Truth::with_capacity(rows.len() * columns.len());
    for row in rows {
        let x = &x[row * problem.length..][..problem.length];
        let mean = x.iter().sum::<f64>() / length;
        let magnitude = x.iter().map(|x| x.abs()).sum::<f64>() / length;
        let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / length;
        let r = 1.0 / (variance + problem.eps).sqrt();
        for &i in &columns {
            let value = (x[i] - mean) * r * gamma[i] + beta[i];
            let spread = (x[i] - mean).abs() * (4.0 + growth / 2.0) + magnitude * growth;
            let scale = gamma[i].abs() * (r * spread + UNDERFLOW) + beta[i].abs();
            truth.push(value, if scale.is_nan() { 0.0 } else { scale });
        }
    }
    truth
}
