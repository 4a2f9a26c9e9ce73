//! The product of two rows, in f32, with four vector accumulators as the other reductions.

use crate::blocks::stored::Stored;
use proofmark_simd::Simd;

/// Accumulators in flight.
const CHAINS: usize = 4;

/// The sum of the products of two rows of one length; 0 of empty ones.
#[inline(always)]
pub fn dot<S: Simd, T: Stored>(simd: S, x: &[T], y: &[T]) -> f32 {
    let y = &y[..x.len()];
    let mut totals = [simd.zero(); CHAINS];
    let mut at = 0;
    while at + CHAINS * S::LANES <= x.len() {
        for (chain, total) in totals.iter_mut().enumerate() {
            let from = at + chain * S::LANES;
            *total = simd.fma(T::load(simd, &x[from..]), T::load(simd, &y[from..]), *total);
        }
        at += CHAINS * S::LANES;
    }
    let mut chain = 0;
    while at + S::LANES <= x.len() {
        let (x, y) = (T::load(simd, &x[at..]), T::load(simd, &y[at..]));
        totals[chain] = simd.fma(x, y, totals[chain]);
        chain += 1;
        at += S::LANES;
    }
    let x = T::load_partial(simd, &x[at..], 0.0);
    let y = T::load_partial(simd, &y[at..], 0.0);
    let [a, b, c, d] = totals;
    let d = simd.fma(x, y, d);
    simd.reduce_sum(simd.add(simd.add(a, b), simd.add(c, d)))
}
