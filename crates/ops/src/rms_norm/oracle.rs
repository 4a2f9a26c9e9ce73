//! The slow truth of RMS normalisation in f64: value and error scale.
#![forbid(unsafe_code)]

use super::definition::Problem;
use proofmark_contract::{Truth, Want};

/// Half of the least f32 over its unit roundoff, doubled: an intermediate product that is
/// subnormal is off by an absolute amount, whatever its size.
const UNDERFLOW: f64 = 1.0 / (1u128 << 125) as f64;

/// The truth about the wanted elements.
///
/// The scale is `|x·r|·|w|·(3 + g(d)/2)` with `g(n) = 1 + √n/4`: r is the root of a sum of d
/// terms, hence half of its error, and three roundings follow. Where the weight is `1 + w`,
/// which may cancel, `1 + |w|` stands for it. What an underflowing `x·r` loses is multiplied by
/// the weight and added.
pub(crate) fn truth(problem: &Problem, x: &[f64], w: &[f64], want: &Want) -> Truth {
    let columns = want.cols(problem.length);
    let rows = want.rows(problem.rows);
    let roundings = 3.0 + (1.0 + (problem.length as f64).sqrt() / 4.0) / 2.0;
    let mut truth = Truth::with_capacity(rows.len() * columns.len());
    for row in rows {
        let x = &x[row * problem.length..][..problem.length];
        let squares: f64 = x.iter().map(|x| x * x).sum();
        let r = 1.0 / (squares / problem.length as f64 + problem.eps).sqrt();
        for &i in &columns {
            let (weight, magnitude) =
                if problem.is_gemma { (1.0 + w[i], 1.0 + w[i].abs()) } else { (w[i], w[i].abs()) };
            let scale = (x[i] * r).abs() * magnitude * roundings + UNDERFLOW * magnitude;
            truth.push(x[i] * r * weight, if scale.is_nan() { 0.0 } else { scale });
        }
    }
    truth
}
