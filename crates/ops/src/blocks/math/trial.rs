//! Functions of one lane against their exact values, at every level; for unit tests.

use proofmark_simd::{Body, Simd, available, dispatch};
use proofmark_tensor::f16;
use proofmark_terms::{DType, Isa};
use std::marker::PhantomData;
use std::ops::Range;

/// A function with its stated bound.
pub(super) trait Function {
    /// Bound of its error in units in the last place of the exact result.
    const MAX_ULP: f64;

    /// The function; implementations are `#[inline(always)]`.
    fn of<S: Simd>(simd: S, x: S::F) -> S::F;

    /// The truth, far more exact than f32.
    fn exact(x: f64) -> f64;
}

struct Apply<'a, F> {
    x: &'a [f32],
    y: &'a mut [f32],
    function: PhantomData<F>,
}

impl<F: Function> Body for Apply<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for (x, y) in self.x.chunks(S::LANES).zip(self.y.chunks_mut(S::LANES)) {
            simd.store_partial(F::of(simd, simd.load_partial(x, 0.0)), y);
        }
    }
}

/// The levels of this machine.
pub(super) fn levels() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|&isa| available(isa))
}

/// The function at one level.
pub(super) fn at<F: Function>(isa: Isa, x: &[f32]) -> Vec<f32> {
    let mut y = vec![0.0; x.len()];
    dispatch(isa, Apply { x, y: &mut y, function: PhantomData::<F> });
    y
}

/// Panics where a result is of the wrong class or off by more than the bound; gives the greatest
/// error.
fn check<F: Function>(isa: Isa, inputs: impl Iterator<Item = f32>) -> f64 {
    let mut inputs = inputs.peekable();
    let mut greatest = 0.0f64;
    while inputs.peek().is_some() {
        let x: Vec<f32> = inputs.by_ref().take(4096).collect();
        for (&x, y) in x.iter().zip(at::<F>(isa, &x)) {
            let exact = F::exact(f64::from(x));
            if exact.is_nan() {
                assert!(y.is_nan(), "{isa}: f({x:?}) = {y:?}");
                continue;
            }
            // Infinity stands for the first value beyond the largest, so that results near the
            // border are judged by their distance too.
            let beyond = 2f64.powi(128);
            let clamp = |value: f64| value.clamp(-beyond, beyond);
            let error = (clamp(f64::from(y)) - clamp(exact)).abs() / DType::F32.ulp(exact);
            assert!(error <= F::MAX_ULP, "{isa}: f({x:?}) = {y:?}, {error} ulp off");
            greatest = greatest.max(error);
        }
    }
    greatest
}

/// Every bf16 and every f16 number.
pub(super) fn every_16_bit_input<F: Function>() {
    for isa in levels() {
        check::<F>(isa, (0..=0xffff).map(|bits: u32| f32::from_bits(bits << 16)));
        check::<F>(isa, (0..=0xffff).map(|bits: u16| f16::from_bits(bits).to_f32()));
    }
}

/// One f32 in some thousands of all, and one in hundreds where results are neither limit nor
/// straight line.
pub(super) fn dense_sample<F: Function>(range: Range<f32>) {
    const SMALL: u32 = 0x3300_0000;
    for isa in levels() {
        // A prime stride visits every residue of the low bits.
        let all = check::<F>(isa, (0..u32::MAX / 8191).map(|i| f32::from_bits(i * 8191)));
        let above = (SMALL..range.end.to_bits()).step_by(509).map(f32::from_bits);
        let below =
            (SMALL..(-range.start).to_bits()).step_by(509).map(|bits| -f32::from_bits(bits));
        let dense = check::<F>(isa, above.chain(below));
        // A bound far above what is reached would hide a slip.
        let reached = all.max(dense);
        assert!(reached > F::MAX_ULP / 4.0, "{isa}: {reached} of {} ulp", F::MAX_ULP);
    }
}

/// All of them.
pub(super) fn every_f32_input<F: Function>() {
    for isa in levels() {
        check::<F>(isa, (0..=u32::MAX).map(f32::from_bits));
    }
}
