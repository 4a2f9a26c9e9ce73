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
    let mut at = 0;
    while at + CHAINS * S::LANES <= x.len() {
        for (chain, total) in totals.iter_mut().enumerate() {
            let from = at + chain * S::LANES;
            *total = P::take(simd, *total, T::load(simd, &x[from..]), T::load(simd, &y[from..]));
        }
        at += CHAINS * S::LANES;
    }
    let mut chain = 0;
    while at + S::LANES <= x.len() {
        let (x, y) = (T::load(simd, &x[at..]), T::load(simd, &y[at..]));
        totals[chain] = P::take(simd, totals[chain], x, y);
        chain += 1;
        at += S::LANES;
    }
    let x = T::load_partial(simd, &x[at..], 0.0);
    let y = T::load_partial(simd, &y[at..], 0.0);
    let [a, b, c, d] = totals;
    let d = P::take(simd, d, x, y);
    simd.reduce_sum(simd.add(simd.add(a, b), simd.add(c, d)))
}
