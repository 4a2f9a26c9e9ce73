//! The exponential of every lane, within [`EXP_MAX_ULP`] units in the last place.
//!
//! Cody and Waite's reduction, `x = n·ln 2 + r` with `|r| ≤ ln 2 / 2`, a polynomial for `exp(r)`
//! and one exact scaling by `2^n` that rounds once where the result is subnormal.

use proofmark_simd::Simd;

/// Bound of the error of [`exp`], in units in the last place of the exact result.
///
/// Rounding of `r` and of the polynomial's last two additions costs at most 1.1, the polynomial
/// itself 0.1 (see `POLYNOMIAL`); greatest seen on ten million sampled inputs: 0.992. The rest
/// is room for the level without fused multiply-add.
pub const EXP_MAX_ULP: f64 = 2.0;

/// From here on the result overflows: `exp(89) > 2^128`.
const HIGHEST: f32 = 89.0;
/// From here down the result rounds to 0: `exp(-104) < 2^-150`.
const LOWEST: f32 = -104.0;
/// `LOWEST / ln 2`, rounded.
const LOWEST_POWER: f32 = -150.0;

/// The upper 16 bits of ln 2: its product with an integer of 8 bits is exact.
const LN2_HIGH: f32 = f32::from_bits(0x3f31_7200);
/// ln 2 without [`LN2_HIGH`].
const LN2_LOW: f32 = 1.428_606_8e-6;

/// Coefficients of r⁶ to r² after `1 + r`; greatest relative error 4.4e-9 on |r| ≤ 0.347
/// (Remez exchange with the weight r²/exp(r), then rounded to f32).
const POLYNOMIAL: [f32; 5] =
    [0.001_381_443_3, 0.008_368_797, 0.041_668_396, 0.166_665_2, 0.499_999_94];

/// e to the power of each lane.
///
/// NaN gives NaN, +infinity itself and -infinity 0; results below the smallest normal number are
/// rounded into the subnormals; `exp(±0)` is exactly 1.
#[inline(always)]
pub fn exp<S: Simd>(simd: S, x: S::F) -> S::F {
    exp_reduced(simd, x, |r| r)
}

/// e to the power of `x + low`, for a `low` of less than a unit in the last place of `x`.
#[inline(always)]
pub(super) fn exp_of_sum<S: Simd>(simd: S, x: S::F, low: S::F) -> S::F {
    exp_reduced(simd, x, |r| simd.add(r, low))
}

/// The polynomial for `exp(r) − 1`, |r| ≤ ln 2 / 2: relatively as exact as `exp(r)`.
#[inline(always)]
pub(super) fn above_one<S: Simd>(simd: S, r: S::F) -> S::F {
    let mut q = simd.splat(POLYNOMIAL[0]);
    for coefficient in &POLYNOMIAL[1..] {
        q = simd.fma(q, r, simd.splat(*coefficient));
    }
    simd.fma(simd.mul(r, r), q, r)
}

/// The power of two nearest to `exp(x)`, and what is left of `x`.
#[inline(always)]
pub(super) fn reduce<S: Simd>(simd: S, x: S::F) -> (S::F, S::F) {
    let n = simd.round(simd.mul(x, simd.splat(std::f32::consts::LOG2_E)));
    let r = simd.fma(n, simd.splat(-LN2_HIGH), x);
    (n, simd.fma(n, simd.splat(-LN2_LOW), r))
}

#[inline(always)]
fn exp_reduced<S: Simd>(simd: S, x: S::F, add: impl Fn(S::F) -> S::F) -> S::F {
    // Both return their second operand where one is NaN, so a NaN in `x` stays.
    let inside = simd.max(simd.splat(LOWEST), simd.min(simd.splat(HIGHEST), x));
    let (n, r) = reduce(simd, inside);
    let fraction = simd.add(simd.splat(1.0), above_one(simd, add(r)));
    // A zero is scaled exactly. Otherwise lanes past a row's end and masked lanes, which hold -∞,
    // would underflow, and a vector with one such lane costs the processor a hundred nanoseconds.
    let fraction = simd.select(simd.lt(x, simd.splat(LOWEST)), simd.zero(), fraction);
    // Here NaN is replaced: the scaling takes integers only, and the fraction carries the NaN.
    let n = simd.max(n, simd.splat(LOWEST_POWER));
    simd.pow2_scale(fraction, n)
}

/// From here down the result is subnormal.
const LEAST_POWER: f32 = -126.0;

/// Coefficients of f⁶ to f after 1; greatest relative error 1.7e-8 on |f| ≤ 0.5 (weighted least
/// squares until the error is level, then rounded to f32).
const POLYNOMIAL_OF_2: [f32; 6] = [
    0.000_153_532_59,
    0.001_339_900_3,
    0.009_618_439,
    0.055_503_32,
    0.240_226_48,
    std::f32::consts::LN_2,
];

/// 2 to the power of each lane, for lanes of at most 128, within [`EXP_MAX_ULP`] (greatest seen:
/// 0.940). A result that would be subnormal is 0, which avoids the processor's slow path for
/// subnormals. NaN gives NaN, and -infinity 0.
#[inline(always)]
pub(crate) fn exp2_flushed<S: Simd>(simd: S, x: S::F) -> S::F {
    // Where the result is flushed the rest may be anything; a NaN gets a power and stays in `f`.
    let n = simd.round(simd.max(x, simd.splat(LEAST_POWER)));
    let f = simd.sub(x, n);
    let mut q = simd.splat(POLYNOMIAL_OF_2[0]);
    for coefficient in &POLYNOMIAL_OF_2[1..] {
        q = simd.fma(q, f, simd.splat(*coefficient));
    }
    let power = simd.pow2_scale(simd.fma(q, f, simd.splat(1.0)), n);
    simd.select(simd.lt(x, simd.splat(LEAST_POWER)), simd.zero(), power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::math::trial::{self, Function};

    struct Exp2;

    impl Function for Exp2 {
        const MAX_ULP: f64 = EXP_MAX_ULP;

        #[inline(always)]
        fn of<S: Simd>(simd: S, x: S::F) -> S::F {
            // Nothing is promised beyond.
            exp2_flushed(simd, simd.min(simd.splat(127.5), x))
        }

        fn exact(x: f64) -> f64 {
            // Unlike `min`, NaN stays.
            let x = if x > 127.5 { 127.5 } else { x };
            if x < f64::from(LEAST_POWER) { 0.0 } else { x.exp2() }
        }
    }

    #[test]
    fn a_dense_sample_of_powers_of_2_is_within_the_bound() {
        trial::dense_sample::<Exp2>(-130.0..127.5);
    }

    #[test]
    fn special_powers_of_2_give_the_limits_and_subnormals_0() {
        let x = [0.0, -0.0, -1.0, -126.0, -126.5, -1e30, f32::NEG_INFINITY, f32::NAN];
        for isa in trial::levels() {
            let y = trial::at::<Exp2>(isa, &x);
            assert_eq!(y[..7], [1.0, 1.0, 0.5, f32::MIN_POSITIVE, 0.0, 0.0, 0.0], "{isa}");
            assert!(y[7].is_nan(), "{isa}");
        }
    }

    struct Exp;

    impl Function for Exp {
        const MAX_ULP: f64 = EXP_MAX_ULP;

        #[inline(always)]
        fn of<S: Simd>(simd: S, x: S::F) -> S::F {
            exp(simd, x)
        }

        fn exact(x: f64) -> f64 {
            x.exp()
        }
    }

    #[test]
    fn every_16_bit_input_is_within_the_bound() {
        trial::every_16_bit_input::<Exp>();
    }

    #[test]
    fn a_dense_sample_of_f32_inputs_is_within_the_bound() {
        trial::dense_sample::<Exp>(-104.5..89.5);
    }

    #[test]
    #[ignore = "all 2^32 inputs take minutes"]
    fn every_f32_input_is_within_the_bound() {
        trial::every_f32_input::<Exp>();
    }

    #[test]
    fn special_inputs_give_the_limits() {
        let x = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e30, -1e30, -103.0];
        for isa in trial::levels() {
            let y = trial::at::<Exp>(isa, &x);
            assert_eq!(y[..4], [1.0, 1.0, f32::INFINITY, 0.0], "{isa}");
            assert!(y[4].is_nan(), "{isa}");
            assert_eq!(y[5..7], [f32::INFINITY, 0.0], "{isa}");
            assert_eq!(y[7], f32::from_bits(1), "{isa}: a subnormal is not flushed");
        }
    }
}
