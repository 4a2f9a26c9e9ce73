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
    // Both return their second operand where one is NaN, so a NaN in `x` stays.
    let x = simd.max(simd.splat(LOWEST), simd.min(simd.splat(HIGHEST), x));
    let n = simd.round(simd.mul(x, simd.splat(std::f32::consts::LOG2_E)));
    let r = simd.fma(n, simd.splat(-LN2_HIGH), x);
    let r = simd.fma(n, simd.splat(-LN2_LOW), r);
    let mut q = simd.splat(POLYNOMIAL[0]);
    for coefficient in &POLYNOMIAL[1..] {
        q = simd.fma(q, r, simd.splat(*coefficient));
    }
    let above_one = simd.fma(simd.mul(r, r), q, r);
    let fraction = simd.add(simd.splat(1.0), above_one);
    // Here NaN is replaced: the scaling takes integers only, and the fraction carries the NaN.
    let n = simd.max(n, simd.splat(LOWEST_POWER));
    simd.pow2_scale(fraction, n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_schema::{DType, Isa};
    use proofmark_simd::{Body, available, dispatch};

    struct ExpOf<'a> {
        x: &'a [f32],
        y: &'a mut [f32],
    }

    impl Body for ExpOf<'_> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            for (x, y) in self.x.chunks(S::LANES).zip(self.y.chunks_mut(S::LANES)) {
                simd.store_partial(exp(simd, simd.load_partial(x, 0.0)), y);
            }
        }
    }

    fn levels() -> impl Iterator<Item = Isa> {
        Isa::ALL.into_iter().filter(|&isa| available(isa))
    }

    fn exp_at(isa: Isa, x: &[f32]) -> Vec<f32> {
        let mut y = vec![0.0; x.len()];
        dispatch(isa, ExpOf { x, y: &mut y });
        y
    }

    /// Panics where a result is of the wrong class or off by more than the bound.
    fn check(isa: Isa, inputs: impl Iterator<Item = u32>) {
        let mut inputs = inputs.map(f32::from_bits).peekable();
        while inputs.peek().is_some() {
            let x: Vec<f32> = inputs.by_ref().take(4096).collect();
            for (&x, y) in x.iter().zip(exp_at(isa, &x)) {
                let exact = f64::from(x).exp();
                if exact.is_nan() {
                    assert!(y.is_nan(), "{isa}: exp({x:?}) = {y:?}");
                    continue;
                }
                // Infinity stands for the first value beyond the largest, so that results near
                // the border are judged by their distance too.
                let beyond = 2f64.powi(128);
                let got = f64::from(y).min(beyond);
                let error = (got - exact.min(beyond)).abs() / DType::F32.ulp(exact);
                assert!(error <= EXP_MAX_ULP, "{isa}: exp({x:?}) = {y:?}, {error} ulp off");
            }
        }
    }

    #[test]
    fn every_bf16_input_is_within_the_bound() {
        for isa in levels() {
            check(isa, (0..=0xffff).map(|bits: u32| bits << 16));
        }
    }

    #[test]
    fn a_dense_sample_of_f32_inputs_is_within_the_bound() {
        for isa in levels() {
            // A prime stride visits every residue of the low bits; then all of the range where
            // results are neither 0 nor infinite, more densely.
            check(isa, (0..u32::MAX / 8191).map(|i| i * 8191));
            let range = |high: f32| 0x3300_0000..high.to_bits();
            check(isa, range(89.5).step_by(509));
            check(isa, range(104.5).step_by(509).map(|bits| bits | 0x8000_0000));
        }
    }

    #[test]
    #[ignore = "all 2^32 inputs take minutes"]
    fn every_f32_input_is_within_the_bound() {
        for isa in levels() {
            check(isa, 0..=u32::MAX);
        }
    }

    #[test]
    fn special_inputs_give_the_limits() {
        let x = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e30, -1e30, -103.0];
        for isa in levels() {
            let y = exp_at(isa, &x);
            assert_eq!(y[..4], [1.0, 1.0, f32::INFINITY, 0.0], "{isa}");
            assert!(y[4].is_nan(), "{isa}");
            assert_eq!(y[5..7], [f32::INFINITY, 0.0], "{isa}");
            assert_eq!(y[7], f32::from_bits(1), "{isa}: a subnormal is not flushed");
        }
    }
}
