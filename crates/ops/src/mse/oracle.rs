//! The slow truth of the mean squared error in f64: value and error scale.
#![forbid(unsafe_code)]

use proofmark_contract::Truth;

/// The loss. Differences are rounded, which counts twice in the square, then the square; the error
/// of a sum of positive terms grows with their number, as `1 + √n/4`.
pub(super) fn truth(x: &[f64], target: &[f64], divisor: f64) -> Truth {
    let squares = x.iter().zip(target).map(|(x, target)| (x - target) * (x - target));
    let loss = squares.sum::<f64>() / divisor;
    let mut truth = Truth::with_capacity(1);
    let growth = 1.0 + (x.len() as f64).sqrt() / 4.0;
    truth.push(loss, if loss.is_nan() { 0.0 } else { (3.0 + growth) * loss });
    truth
}
