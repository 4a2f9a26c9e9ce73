//! The hyperbolic tangent of every lane, within [`TANH_MAX_ULP`] units in the last place.
//!
//! `tanh(a) = −t / (2 + t)` with `t = exp(−2a) − 1`, for which the exponential's polynomial is
//! exact near 0 too: one path for all lanes, without the cancellation of `1 − 2/(e^2a + 1)`.

use super::exp::{above_one, reduce};
use proofmark_simd::Simd;

/// Bound of the error of [`tanh`], in units in the last place of the exact result.
pub const TANH_MAX_ULP: f64 = 3.0;

/// From here on the result is 1.
const HIGHEST: f32 = 10.0;
/// Below, the result is its argument: the next term is a third of its cube.
const LEAST: f32 = 1.0 / 4096.0;

/// The hyperbolic tangent of each lane.
///
/// NaN gives NaN, ±infinity ±1; subnormals and zeros are kept with their sign.
#[inline(always)]
pub fn tanh<S: Simd>(simd: S, x: S::F) -> S::F {
    let magnitude = simd.abs(x);
    // Returns its second operand where one is NaN, so a NaN stays.
    let a = simd.min(simd.splat(HIGHEST), magnitude);
    let (n, r) = reduce(simd, simd.mul(a, simd.splat(-2.0)));
    // -29 ≤ n ≤ 0; for a NaN any power will do, because the polynomial carries it.
    let biased = simd.int_add(simd.to_int(n), simd.int_splat(127));
    let power = simd.from_bits(simd.shift_left(biased, 23));
    let t = simd.fma(above_one(simd, r), power, simd.sub(power, simd.splat(1.0)));
    let y = simd.div(t, simd.add(simd.splat(2.0), t));
    let y = simd.select(simd.lt(x, simd.zero()), y, simd.neg(y));
    simd.select(simd.lt(magnitude, simd.splat(LEAST)), x, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::math::trial::{self, Function};

    struct Tanh;

    impl Function for Tanh {
        const MAX_ULP: f64 = TANH_MAX_ULP;

        #[inline(always)]
        fn of<S: Simd>(simd: S, x: S::F) -> S::F {
            tanh(simd, x)
        }

        fn exact(x: f64) -> f64 {
            x.tanh()
        }
    }

    #[test]
    fn every_16_bit_input_is_within_the_bound() {
        trial::every_16_bit_input::<Tanh>();
    }

    #[test]
    fn a_dense_sample_of_f32_inputs_is_within_the_bound() {
        trial::dense_sample::<Tanh>(-12.0..12.0);
    }

    #[test]
    #[ignore = "all 2^32 inputs take minutes"]
    fn every_f32_input_is_within_the_bound() {
        trial::every_f32_input::<Tanh>();
    }

    #[test]
    fn zeros_and_limits_keep_their_signs() {
        let x = [-0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(1), f32::NAN];
        for isa in trial::levels() {
            let y = trial::at::<Tanh>(isa, &x);
            assert_eq!(y[..5], [0.0, 0.0, 1.0, -1.0, f32::from_bits(1)], "{isa}");
            assert!(y[0].is_sign_negative() && y[1].is_sign_positive() && y[5].is_nan(), "{isa}");
        }
    }
}
