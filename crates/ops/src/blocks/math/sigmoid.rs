//! The logistic function of every lane, within [`SIGMOID_MAX_ULP`] units in the last place, and
//! the activations that are an element times a logistic function.

use super::exp;
use proofmark_simd::Simd;
use std::f32::consts::FRAC_2_SQRT_PI;

/// Bound of the error of [`sigmoid`], in units in the last place of the exact result.
///
/// The exponential's, once more where the result's unit is half as large, and two roundings.
pub const SIGMOID_MAX_ULP: f64 = 3.0;

/// What the argument is multiplied with in [`gelu_quick`].
pub const QUICK_SLOPE: f32 = 1.702;
/// `2·√(2/π)`: of x in the argument of [`gelu_tanh`] as a logistic function.
const LINEAR: f32 = FRAC_2_SQRT_PI * std::f32::consts::SQRT_2;
/// `LINEAR · 0.044715`: of x³.
const CUBIC: f32 = LINEAR * 0.044_715;

/// `1 / (1 + exp(−x))` of each lane. NaN gives NaN, -infinity 0; subnormal results are kept.
#[inline(always)]
pub fn sigmoid<S: Simd>(simd: S, x: S::F) -> S::F {
    times_sigmoid(simd, simd.splat(1.0), x)
}

/// `x·σ(v)`, where x and v have the same sign or x is positive.
///
/// `exp(−v)` would overflow below -88, where `x·e^v` has not vanished yet; so the exponential is
/// that of `−|v|`.
#[inline(always)]
fn times_sigmoid<S: Simd>(simd: S, x: S::F, v: S::F) -> S::F {
    let e = exp(simd, simd.neg(simd.abs(v)));
    let numerator = simd.select(simd.lt(v, simd.zero()), simd.mul(x, e), x);
    simd.div(numerator, simd.add(simd.splat(1.0), e))
}

/// `x·σ(x)`.
#[inline(always)]
pub fn silu<S: Simd>(simd: S, x: S::F) -> S::F {
    times_sigmoid(simd, x, x)
}

/// `x·σ(1.702 x)`.
#[inline(always)]
pub fn gelu_quick<S: Simd>(simd: S, x: S::F) -> S::F {
    times_sigmoid(simd, x, simd.mul(x, simd.splat(QUICK_SLOPE)))
}

/// `x/2·(1 + tanh(√(2/π)·(x + 0.044715 x³)))`, as `x·σ` of twice that argument: nothing cancels.
#[inline(always)]
pub fn gelu_tanh<S: Simd>(simd: S, x: S::F) -> S::F {
    let slope = simd.fma(simd.mul(x, x), simd.splat(CUBIC), simd.splat(LINEAR));
    times_sigmoid(simd, x, simd.mul(x, slope))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::math::trial::{self, Function};

    struct Sigmoid;

    impl Function for Sigmoid {
        const MAX_ULP: f64 = SIGMOID_MAX_ULP;

        #[inline(always)]
        fn of<S: Simd>(simd: S, x: S::F) -> S::F {
            sigmoid(simd, x)
        }

        fn exact(x: f64) -> f64 {
            1.0 / (1.0 + (-x).exp())
        }
    }

    #[test]
    fn every_16_bit_input_is_within_the_bound() {
        trial::every_16_bit_input::<Sigmoid>();
    }

    #[test]
    fn a_dense_sample_of_f32_inputs_is_within_the_bound() {
        trial::dense_sample::<Sigmoid>(-105.0..20.0);
    }

    #[test]
    #[ignore = "all 2^32 inputs take minutes"]
    fn every_f32_input_is_within_the_bound() {
        trial::every_f32_input::<Sigmoid>();
    }
}
