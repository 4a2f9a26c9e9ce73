//! The slow truth of the logarithm of softmax in f64: value and error scale.
#![forbid(unsafe_code)]

use proofmark_contract::{Truth, Want};

/// The truth about the wanted elements of this many rows of this many elements.
///
/// The scale is `|x−m| + ln Σ + Σp|x−m| + 4 + g(d)` with `g(n) = 1 + √n/4`: the two differences are
/// rounded, and the relative error of the sum is an absolute one of its logarithm: that of the
/// rounded arguments on average, of the exponentials, and g of the sum.
pub(crate) fn truth((rows, length): (usize, usize), x: &[f64], want: &Want) -> Truth {
    let columns = want.cols(length);
    let rows = want.rows(rows);
    let roundings = 4.0 + 1.0 + (length as f64).sqrt() / 4.0;
    let mut truth = Truth::with_capacity(rows.len() * columns.len());
    for row in rows {
        let x = &x[row * length..][..length];
        let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = x.iter().map(|x| (x - max).exp()).sum();
        let spread: f64 = x.iter().map(|x| weighted((x - max).exp() / sum, x - max)).sum();
        for &i in &columns {
            let scale = (x[i] - max).abs() + sum.ln() + spread + roundings;
            truth.push(x[i] - max - sum.ln(), if scale.is_nan() { 0.0 } else { scale });
        }
    }
    truth
}

/// `p·|difference|`, where a probability of 0 outweighs an infinite difference.
fn weighted(p: f64, difference: f64) -> f64 {
    if p == 0.0 { 0.0 } else { p * difference.abs() }
}
