//! The normal distribution function of every lane, within [`NORMAL_CDF_MAX_ULP`] units in the
//! last place, and the activation made of it.
//!
//! `Φ(x) = ½·erfc(−x/√2)`. Below 0 it is `exp(−x²/2)·g(|x|)` with a smooth g, for which a
//! polynomial in `(a − 4)/(a + 4)` serves from 0 to where Φ vanishes; above 0 it is 1 minus that.
//! The exponential takes `x²` with what its rounding loses, or 13² times that would be lost.

use super::exp::exp_of_sum;
use proofmark_simd::Simd;
use proofmark_terms::Isa;

/// Bound of the error of [`normal_cdf`], in units in the last place of the exact result.
pub const NORMAL_CDF_MAX_ULP: f64 = 6.0;

/// From here on Φ(−a) is 0 in f32.
const HIGHEST: f32 = 14.5;
/// Where the polynomial's variable is 0.
const CENTRE: f32 = 4.0;

/// Coefficients of q⁹ to q⁰ of `(a + 4)·g(a)`, `q = (a − 4)/(a + 4)`; greatest relative error
/// 5.5e-8 on 0 ≤ a ≤ 14.5 (Remez exchange for the relative error, then rounded to f32).
const POLYNOMIAL: [f32; 10] = [
    -0.000_131_971_62,
    0.000_179_354_39,
    0.001_569_923_2,
    -0.003_512_554,
    -0.007_525_271_3,
    0.060_403_83,
    -0.186_523_44,
    0.387_136_9,
    -0.607_896_57,
    0.755_285_14,
];

/// The normal distribution function of each lane, relatively exact in the tail below 0 too.
///
/// NaN gives NaN, -infinity 0; subnormal results are kept.
#[inline(always)]
pub fn normal_cdf<S: Simd>(simd: S, x: S::F) -> S::F {
    // Returns its second operand where one is NaN, so a NaN stays.
    let a = simd.min(simd.splat(HIGHEST), simd.abs(x));
    let reciprocal = simd.div(simd.splat(1.0), simd.add(a, simd.splat(CENTRE)));
    let q = simd.mul(simd.sub(a, simd.splat(CENTRE)), reciprocal);
    let mut g = simd.splat(POLYNOMIAL[0]);
    for coefficient in &POLYNOMIAL[1..] {
        g = simd.fma(g, q, simd.splat(*coefficient));
    }
    let g = simd.mul(g, reciprocal);
    let half = simd.splat(-0.5);
    let square = simd.mul(a, a);
    let lost = lost_in_square(simd, a, square);
    let e = exp_of_sum(simd, simd.mul(square, half), simd.mul(lost, half));
    let tail = simd.mul(e, g);
    simd.select(simd.lt(x, simd.zero()), tail, simd.sub(simd.splat(1.0), tail))
}

/// `a·a − square`, exactly.
#[inline(always)]
fn lost_in_square<S: Simd>(simd: S, a: S::F, square: S::F) -> S::F {
    if S::ISA != Isa::Scalar {
        return simd.fma(a, a, simd.neg(square));
    }
    // Without a fused multiplication: Dekker's product of halves of 12 bits.
    let scaled = simd.mul(a, simd.splat(4097.0));
    let high = simd.sub(scaled, simd.sub(scaled, a));
    let low = simd.sub(a, high);
    let first = simd.sub(simd.mul(high, high), square);
    let second = simd.add(first, simd.mul(simd.add(high, high), low));
    simd.add(second, simd.mul(low, low))
}

/// `x·Φ(x)`.
#[inline(always)]
pub fn gelu<S: Simd>(simd: S, x: S::F) -> S::F {
    simd.mul(x, normal_cdf(simd, x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::math::trial::{self, Function};

    struct NormalCdf;

    impl Function for NormalCdf {
        const MAX_ULP: f64 = NORMAL_CDF_MAX_ULP;

        #[inline(always)]
        fn of<S: Simd>(simd: S, x: S::F) -> S::F {
            normal_cdf(simd, x)
        }

        fn exact(x: f64) -> f64 {
            0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
        }
    }

    #[test]
    fn every_16_bit_input_is_within_the_bound() {
        trial::every_16_bit_input::<NormalCdf>();
    }

    #[test]
    fn a_dense_sample_of_f32_inputs_is_within_the_bound() {
        trial::dense_sample::<NormalCdf>(-14.8..7.0);
    }

    #[test]
    #[ignore = "all 2^32 inputs take minutes"]
    fn every_f32_input_is_within_the_bound() {
        trial::every_f32_input::<NormalCdf>();
    }
}
