//! The slow truth of the product of two vectors: products are exact in f64, sums far below f32.
#![forbid(unsafe_code)]

use super::definition::Problem;
use proofmark_contract::{Truth, Want};

/// The truth about the wanted rows; the scale is what passes through the sum.
pub(super) fn truth(problem: &Problem, x: &[f64], y: &[f64], want: &Want) -> Truth {
    let indices = want.indices(problem.batch, problem.sequence);
    let mut truth = Truth::with_capacity(indices.len());
    for row in indices {
        let range = row * problem.length..(row + 1) * problem.length;
        let products = x[range.clone()].iter().zip(&y[range]).map(|(x, y)| x * y);
        let (value, scale) = products.fold((0.0, 0.0), |(v, s), p: f64| (v + p, s + p.abs()));
        truth.push(value, if scale.is_nan() { 0.0 } else { scale });
    }
    truth
}
