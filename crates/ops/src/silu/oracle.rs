//! The slow truth of SiLU in f64: value and error scale.
#![forbid(unsafe_code)]

use super::definition::Problem;
use proofmark_contract::{Truth, Want};

/// The least f32 over its unit roundoff: an exponential that is subnormal is off by an absolute
/// amount, whatever its size.
const UNDERFLOW: f64 = 1.0 / (1u128 << 125) as f64;

/// Beyond this the exponential is 0 in f32.
const VANISHED: f64 = 128.0;

/// The truth about the wanted elements: `x·σ(x)` as written, which f64 holds stable.
///
/// `e^−x` overflows only below -709, where σ becomes 0 and the product -0, as it rounds in every
/// element type. At -infinity the product is NaN.
///
/// The scale is `4·|y|`, for an exponential, a product, a sum and a quotient, plus what a
/// subnormal exponential loses, times the element that multiplies it.
pub(crate) fn truth(problem: &Problem, x: &[f64], want: &Want) -> Truth {
    let indices = want.indices(problem.rows, problem.length);
    let mut truth = Truth::with_capacity(indices.len());
    for index in indices {
        let x = x[index];
        let y = x * (1.0 / (1.0 + (-x).exp()));
        let scale = 4.0 * y.abs() + UNDERFLOW * x.abs().min(VANISHED);
        truth.push(y, if scale.is_nan() { 0.0 } else { scale });
    }
    truth
}
