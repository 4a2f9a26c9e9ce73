//! Sine and cosine of turns, within [`SIN_COS_MAX_ERROR`] of the exact values.
//!
//! A caller that has an angle in f64 subtracts whole turns there, exactly enough, and passes the
//! remainder. This module subtracts quarter turns exactly and evaluates polynomials.

use proofmark_simd::Simd;

/// Bound of the absolute error of either result of [`sin_cos`], in units of f32's roundoff.
///
/// Rounding of the angle costs at most π/4 units, of the polynomials' last two additions 1; the
/// rest is room for the polynomials themselves and the level without fused multiply-add. Tested
/// on every bf16 and f16 input and a dense sample of f32.
pub const SIN_COS_MAX_ERROR: f64 = 2.0;

/// 2π, and what its rounding lost.
const TURN: f32 = std::f32::consts::TAU;
const TURN_LOW: f32 = -1.748_455_6e-7;

/// Coefficients of x⁷ to x³ of the sine, and of x⁸ to x⁴ of the cosine, on |x| ≤ π/4: those of
/// Cephes (Moshier 1989), within 1e-8 of the exact values.
const SIN: [f32; 3] = [-1.951_529_6e-4, 8.332_161e-3, -1.666_665_5e-1];
const COS: [f32; 3] = [2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2];

/// The sine and the cosine of each lane's angle, given in turns from -1/2 to 1/2.
#[inline(always)]
pub fn sin_cos<S: Simd>(simd: S, turns: S::F) -> (S::F, S::F) {
    let quarter = simd.round(simd.mul(turns, simd.splat(4.0)));
    // Exact: both are multiples of the last place of `turns`, and the difference is smaller.
    let rest = simd.fma(quarter, simd.splat(-0.25), turns);
    let x = simd.fma(rest, simd.splat(TURN_LOW), simd.mul(rest, simd.splat(TURN)));
    let square = simd.mul(x, x);
    let mut sin = simd.splat(SIN[0]);
    let mut cos = simd.splat(COS[0]);
    for (s, c) in SIN[1..].iter().zip(&COS[1..]) {
        sin = simd.fma(sin, square, simd.splat(*s));
        cos = simd.fma(cos, square, simd.splat(*c));
    }
    let sin = simd.fma(simd.mul(sin, square), x, x);
    let cos = simd.fma(
        simd.mul(cos, square),
        square,
        simd.fma(square, simd.splat(-0.5), simd.splat(1.0)),
    );
    // An odd number of quarters swaps the two. Two quarters flip both signs, one to the left the
    // cosine's, one to the right the sine's.
    let is_odd = simd.eq(simd.abs(quarter), simd.splat(1.0));
    let is_half = simd.eq(simd.abs(quarter), simd.splat(2.0));
    let (sin, cos) = (simd.select(is_odd, cos, sin), simd.select(is_odd, sin, cos));
    let sin = simd.select(is_half, simd.neg(sin), sin);
    let cos = simd.select(is_half, simd.neg(cos), cos);
    let sin = simd.select(simd.eq(quarter, simd.splat(-1.0)), simd.neg(sin), sin);
    let cos = simd.select(simd.eq(quarter, simd.splat(1.0)), simd.neg(cos), cos);
    (sin, cos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_simd::{Body, available, dispatch};
    use proofmark_tensor::f16;
    use proofmark_terms::{DType, Isa};
    use std::f64::consts::TAU;

    struct Of<'a> {
        turns: &'a [f32],
        results: [&'a mut [f32]; 2],
    }

    impl Body for Of<'_> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let [sines, cosines] = self.results;
            let results = sines.chunks_mut(S::LANES).zip(cosines.chunks_mut(S::LANES));
            for (turns, (sine, cosine)) in self.turns.chunks(S::LANES).zip(results) {
                let (s, c) = sin_cos(simd, simd.load_partial(turns, 0.0));
                simd.store_partial(s, sine);
                simd.store_partial(c, cosine);
            }
        }
    }

    fn check(turns: &[f32]) {
        for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
            let (mut sines, mut cosines) = (vec![0.0; turns.len()], vec![0.0; turns.len()]);
            dispatch(isa, Of { turns, results: [&mut sines, &mut cosines] });
            for ((&turns, &sin), &cos) in turns.iter().zip(&sines).zip(&cosines) {
                let exact = (f64::from(turns) * TAU).sin_cos();
                for (got, exact) in [(sin, exact.0), (cos, exact.1)] {
                    let error = (f64::from(got) - exact).abs() / DType::F32.unit();
                    assert!(error <= SIN_COS_MAX_ERROR, "{isa}: {turns:?} turns, {error} off");
                }
            }
        }
    }

    #[test]
    fn every_16_bit_input_is_within_the_bound() {
        let in_range = |turns: &f32| turns.abs() <= 0.5;
        let bf16s = (0..=0xffffu32).map(|bits| f32::from_bits(bits << 16));
        check(&bf16s.filter(in_range).collect::<Vec<f32>>());
        let f16s = (0..=0xffffu16).map(|bits| f16::from_bits(bits).to_f32());
        check(&f16s.filter(in_range).collect::<Vec<f32>>());
    }

    #[test]
    fn a_dense_sample_of_f32_inputs_is_within_the_bound() {
        let positive = (0x3000_0000..=0.5f32.to_bits()).step_by(251).map(f32::from_bits);
        let turns: Vec<f32> = positive.flat_map(|turns| [turns, -turns]).collect();
        check(&turns);
    }

    #[test]
    fn quarters_of_a_turn_are_exact() {
        for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
            let turns = [0.0, 0.25, 0.5, -0.25, -0.5];
            let (mut sines, mut cosines) = ([9.0; 5], [9.0; 5]);
            dispatch(isa, Of { turns: &turns, results: [&mut sines, &mut cosines] });
            assert_eq!(sines, [0.0, 1.0, 0.0, -1.0, 0.0], "{isa}");
            assert_eq!(cosines, [1.0, 0.0, -1.0, 0.0, -1.0], "{isa}");
        }
    }
}
