//! Reductions over one row, in f32, with four vector accumulators.
//!
//! Four chains hide the latency of the addition (4 cycles at two a cycle would need eight, but a
//! row comes from memory at less than that), and shorten every chain to n / (4·lanes) terms. The
//! order of the terms depends on the row's length and the vector's width only.

use crate::blocks::stored::Stored;
use proofmark_simd::Simd;

/// Accumulators in flight.
const CHAINS: usize = 4;

/// How one reduction takes in elements and joins accumulators.
trait Reduction {
    /// The result of an empty row; as an element it changes nothing.
    const NEUTRAL: f32;

    fn take<S: Simd>(simd: S, total: S::F, value: S::F) -> S::F;
    fn join<S: Simd>(simd: S, a: S::F, b: S::F) -> S::F;
    fn finish<S: Simd>(simd: S, total: S::F) -> f32;
}

/// The sum of the squares of a row; 0 of an empty one.
#[inline(always)]
pub fn sum_of_squares<S: Simd, T: Stored>(simd: S, row: &[T]) -> f32 {
    reduce::<Squares, S, T>(simd, row)
}

/// The sum of a row; 0 of an empty one.
#[inline(always)]
pub fn sum<S: Simd, T: Stored>(simd: S, row: &[T]) -> f32 {
    reduce::<Sum, S, T>(simd, row)
}

/// The largest element of a row, NaNs passed over; -infinity of an empty one.
#[inline(always)]
pub fn max<S: Simd, T: Stored>(simd: S, row: &[T]) -> f32 {
    reduce::<Max, S, T>(simd, row)
}

#[inline(always)]
fn reduce<R: Reduction, S: Simd, T: Stored>(simd: S, row: &[T]) -> f32 {
    let mut totals = [simd.splat(R::NEUTRAL); CHAINS];
    let mut blocks = row.chunks_exact(CHAINS * S::LANES);
    for block in &mut blocks {
        for (total, part) in totals.iter_mut().zip(block.chunks_exact(S::LANES)) {
            *total = R::take(simd, *total, T::load(simd, part));
        }
    }
    let mut vectors = blocks.remainder().chunks_exact(S::LANES);
    for (total, part) in totals.iter_mut().zip(&mut vectors) {
        *total = R::take(simd, *total, T::load(simd, part));
    }
    let tail = T::load_partial(simd, vectors.remainder(), R::NEUTRAL);
    let [a, b, c, d] = totals;
    let d = R::take(simd, d, tail);
    R::finish(simd, R::join(simd, R::join(simd, a, b), R::join(simd, c, d)))
}

struct Squares;

impl Reduction for Squares {
    const NEUTRAL: f32 = 0.0;

    #[inline(always)]
    fn take<S: Simd>(simd: S, total: S::F, value: S::F) -> S::F {
        simd.fma(value, value, total)
    }
    #[inline(always)]
    fn join<S: Simd>(simd: S, a: S::F, b: S::F) -> S::F {
        simd.add(a, b)
    }
    #[inline(always)]
    fn finish<S: Simd>(simd: S, total: S::F) -> f32 {
        simd.reduce_sum(total)
    }
}

struct Sum;

impl Reduction for Sum {
    const NEUTRAL: f32 = 0.0;

    #[inline(always)]
    fn take<S: Simd>(simd: S, total: S::F, value: S::F) -> S::F {
        simd.add(total, value)
    }
    #[inline(always)]
    fn join<S: Simd>(simd: S, a: S::F, b: S::F) -> S::F {
        simd.add(a, b)
    }
    #[inline(always)]
    fn finish<S: Simd>(simd: S, total: S::F) -> f32 {
        simd.reduce_sum(total)
    }
}

struct Max;

impl Reduction for Max {
    const NEUTRAL: f32 = f32::NEG_INFINITY;

    #[inline(always)]
    fn take<S: Simd>(simd: S, total: S::F, value: S::F) -> S::F {
        // The second operand is returned where one is NaN, so the total never becomes NaN.
        simd.max(value, total)
    }
    #[inline(always)]
    fn join<S: Simd>(simd: S, a: S::F, b: S::F) -> S::F {
        simd.max(a, b)
    }
    #[inline(always)]
    fn finish<S: Simd>(simd: S, total: S::F) -> f32 {
        simd.reduce_max(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_schema::Isa;
    use proofmark_simd::{Body, available, dispatch};
    use proofmark_tensor::bf16;

    struct All<'a, T>(&'a [T]);

    impl<T: Stored> Body for All<'_, T> {
        type Output = [f32; 3];

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> [f32; 3] {
            [sum_of_squares(simd, self.0), sum(simd, self.0), max(simd, self.0)]
        }
    }

    fn at_every_level<T: Stored>(row: &[T], expected: [f32; 3]) {
        for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
            assert_eq!(dispatch(isa, All(row)), expected, "{isa}, {} elements", row.len());
        }
    }

    #[test]
    fn every_element_of_every_length_counts_once() {
        for length in 0..200 {
            // Integers small enough for exact sums in any order.
            let row: Vec<f32> = (0..length).map(|i| ((i * 7) % 11) as f32 - 5.0).collect();
            let squares = row.iter().map(|x| x * x).sum();
            let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            at_every_level(&row, [squares, row.iter().sum(), largest]);
            let stored: Vec<bf16> = row.iter().map(|&x| bf16::from_f32(x)).collect();
            at_every_level(&stored, [squares, row.iter().sum(), largest]);
        }
    }

    #[test]
    fn the_largest_is_found_at_every_position_and_past_nans() {
        for at in 0..150 {
            let mut row = vec![-3.0f32; 150];
            row[at] = -1.0;
            row[(at + 37) % 150] = f32::NAN;
            for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
                let [squares, total, largest] = dispatch(isa, All(&row));
                assert!(squares.is_nan() && total.is_nan(), "{isa} at {at}");
                assert_eq!(largest, -1.0, "{isa} at {at}");
            }
        }
    }
}
