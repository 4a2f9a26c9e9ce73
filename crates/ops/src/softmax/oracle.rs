//! The slow truth of softmax in f64: value and error scale.
#![forbid(unsafe_code)]

use super::definition::Problem;
use proofmark_contract::{Truth, Want};

/// The least f32 over its unit roundoff: an exponential that is subnormal is off by an absolute
/// amount, whatever its size.
const UNDERFLOW: f64 = 1.0 / (1u128 << 125) as f64;

/// The truth about the wanted elements.
///
/// The scale is `p·(|x−m| + Σp|x−m| + 4 + g(d))` with `g(n) = 1 + √n/4`: the rounded difference
/// `x−m` is off by `u·|x−m|`, which the exponential turns into a relative error, of the element
/// and on average of the sum; the exponential, quotient and product have 4 roundings, the sum g.
/// A masked element counts as -infinity.
pub(crate) fn truth(problem: &Problem, x: &[f64], want: &Want) -> Truth {
    let columns = want.cols(problem.length);
    let rows = want.rows(problem.rows);
    let roundings = 4.0 + 1.0 + (problem.length as f64).sqrt() / 4.0;
    let mut truth = Truth::with_capacity(rows.len() * columns.len());
    for row in rows {
        let width = problem.width(row);
        let x = &x[row * problem.length..][..width];
        let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = x.iter().map(|x| (x - max).exp()).sum();
        let spread: f64 = x.iter().map(|x| weighted((x - max).exp() / sum, x - max)).sum();
        for &i in &columns {
            let difference = if i < width { x[i] - max } else { f64::NEG_INFINITY };
            let p = difference.exp() / sum;
            let scale = weighted(p, difference) + p * (spread + roundings) + UNDERFLOW;
            truth.push(p, if scale.is_nan() { 0.0 } else { scale });
        }
    }
    truth
}

/// `p·|difference|`, where a probability of 0 outweighs an infinite difference.
fn weighted(p: f64, difference: f64) -> f64 {
    if p == 0.0 { 0.0 } else { p * difference.abs() }
}
