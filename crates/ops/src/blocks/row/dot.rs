//! Sums over pairs of elements of two rows, in f32, with four vector accumulators as the other
//! reductions.

use crate::blocks::stored::Stored;
use proofmark_simd::Simd;

/// Accumulators in flight.
const CHAINS: usize = 4;

/// The sum of the products of two rows of one length; 0 of empty ones.
#[inline(always)]
pub fn dot<S: Simd, T: Stored>(simd: S, x: &[T], y: &[T]) -> f32 {
    sum_of_pairs::<S, T, Product>(simd, x, y)
}

/// The sum of the squared differences of two rows of one length; 0 of empty ones.
#[inline(always)]
pub fn squared_distance<S: Simd, T: Stored>(simd: S, x: &[T], y: &[T]) -> f32 {
    sum_of_pairs::<S, T, Distance>(simd, x, y)
}

/// The sum with one more pair; a pair of zeros adds nothing.
trait Pair {
    fn take<S: Simd>(simd: S, total: S::F, x: S::F, y: S::F) -> S::F;
}

struct Product;

impl Pair for Product {
    #[inline(always)]
    fn take<S: Simd>(simd: S, total: S::F, x: S::F, y: S::F) -> S::F {
        simd.fma(x, y, total)
    }
}

struct Distance;

impl Pair for Distance {
    #[inline(always)]
    fn take<S: Simd>(simd: S, total: S::F, x: S::F, y: S::F) -> S::F {
        let difference = simd.sub(x, y);
        simd.fma(difference, difference, total)
    }
}

#[inline(always)]
fn sum_of_pairs<S: Simd, T: Stored, P: Pair>(simd: S, x: &[T], y: &[T]) -> f32 {
    let y = &y[..x.len()];
    let mut totals = [simd.zero(); CHAINS];
    let group = CHAINS * S::LANES;
    let mut at = 0;
    // Every index of a chain is a constant once the loops are unrolled: another one would keep the
    // totals in memory.
    while at + group <= x.len() {
        let (x, y) = (&x[at..at + group], &y[at..at + group]);
        for chain in 0..CHAINS {
            let lanes = chain * S::LANES..(chain + 1) * S::LANES;
            let (x, y) = (T::load(simd, &x[lanes.clone()]), T::load(simd, &y[lanes]));
            totals[chain] = P::take(simd, totals[chain], x, y);
        }
        at += group;
    }
    for chain in 0..CHAINS - 1 {
        if at + S::LANES <= x.len() {
            let (x, y) = (T::load(simd, &x[at..]), T::load(simd, &y[at..]));
            totals[chain] = P::take(simd, totals[chain], x, y);
            at += S::LANES;
        }
    }
    if at < x.len() {
        let x = T::load_partial(simd, &x[at..], 0.0);
        let y = T::load_partial(simd, &y[at..], 0.0);
        let last = CHAINS - 1;
        totals[last] = P::take(simd, totals[last], x, y);
    }
    let [a, b, c, d] = totals;
    simd.reduce_sum(simd.add(simd.add(a, b), simd.add(c, d)))
}
