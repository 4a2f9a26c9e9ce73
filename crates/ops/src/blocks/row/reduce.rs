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
trait Reduction<S: Simd>: Copy {
    /// The accumulator of an empty row.
    const START: f32;

    /// The element that changes no accumulator.
    fn neutral(self) -> f32 {
        Self::START
    }
    fn take(self, simd: S, total: S::F, value: S::F) -> S::F;
    #[inline(always)]
    fn join(self, simd: S, a: S::F, b: S::F) -> S::F {
        simd.add(a, b)
    }
    #[inline(always)]
    fn finish(self, simd: S, total: S::F) -> f32 {
        simd.reduce_sum(total)
    }
}

/// The sum of the squares of a row; 0 of an empty one.
#[inline(always)]
pub fn sum_of_squares<S: Simd, T: Stored>(simd: S, row: &[T]) -> f32 {
    reduce(Squares, simd, row)
}

/// The sum of the squares of a row's differences from `centre`; 0 of an empty one.
#[inline(always)]
pub fn squared_deviations<S: Simd, T: Stored>(simd: S, row: &[T], centre: f32) -> f32 {
    reduce(Deviations { centre, every: simd.splat(centre) }, simd, row)
}

/// The sum of a row; 0 of an empty one.
#[inline(always)]
pub fn sum<S: Simd, T: Stored>(simd: S, row: &[T]) -> f32 {
    reduce(Sum, simd, row)
}

/// The largest element of a row, NaNs passed over; -infinity of an empty one.
#[inline(always)]
pub fn max<S: Simd, T: Stored>(simd: S, row: &[T]) -> f32 {
    reduce(Max, simd, row)
}

/// The largest element of a row, NaN if there is one; -infinity of an empty one.
#[inline(always)]
pub fn max_or_nan<S: Simd, T: Stored>(simd: S, row: &[T]) -> f32 {
    reduce(MaxOrNan, simd, row)
}

#[inline(always)]
fn reduce<R: Reduction<S>, S: Simd, T: Stored>(reduction: R, simd: S, row: &[T]) -> f32 {
    let mut totals = [simd.splat(R::START); CHAINS];
    let mut blocks = row.chunks_exact(CHAINS * S::LANES);
    for block in &mut blocks {
        for (total, part) in totals.iter_mut().zip(block.chunks_exact(S::LANES)) {
            *total = reduction.take(simd, *total, T::load(simd, part));
        }
    }
    let mut vectors = blocks.remainder().chunks_exact(S::LANES);
    for (total, part) in totals.iter_mut().zip(&mut vectors) {
        *total = reduction.take(simd, *total, T::load(simd, part));
    }
    let tail = T::load_partial(simd, vectors.remainder(), reduction.neutral());
    let [a, b, c, d] = totals;
    let d = reduction.take(simd, d, tail);
    let (low, high) = (reduction.join(simd, a, b), reduction.join(simd, c, d));
    reduction.finish(simd, reduction.join(simd, low, high))
}

#[derive(Clone, Copy)]
struct Squares;

impl<S: Simd> Reduction<S> for Squares {
    const START: f32 = 0.0;

    #[inline(always)]
    fn take(self, simd: S, total: S::F, value: S::F) -> S::F {
        simd.fma(value, value, total)
    }
}

#[derive(Clone, Copy)]
struct Deviations<V> {
    centre: f32,
    every: V,
}

impl<S: Simd> Reduction<S> for Deviations<S::F> {
    const START: f32 = 0.0;

    #[inline(always)]
    fn neutral(self) -> f32 {
        self.centre
    }
    #[inline(always)]
    fn take(self, simd: S, total: S::F, value: S::F) -> S::F {
        let difference = simd.sub(value, self.every);
        simd.fma(difference, difference, total)
    }
}

#[derive(Clone, Copy)]
struct Sum;

impl<S: Simd> Reduction<S> for Sum {
    const START: f32 = 0.0;

    #[inline(always)]
    fn take(self, simd: S, total: S::F, value: S::F) -> S::F {
        simd.add(total, value)
    }
}

#[derive(Clone, Copy)]
struct Max;

impl<S: Simd> Reduction<S> for Max {
    const START: f32 = f32::NEG_INFINITY;

    #[inline(always)]
    fn take(self, simd: S, total: S::F, value: S::F) -> S::F {
        // The second operand is returned where one is NaN, so the total never becomes NaN.
        simd.max(value, total)
    }
    #[inline(always)]
    fn join(self, simd: S, a: S::F, b: S::F) -> S::F {
        simd.max(a, b)
    }
    #[inline(always)]
    fn finish(self, simd: S, total: S::F) -> f32 {
        simd.reduce_max(total)
    }
}

#[derive(Clone, Copy)]
struct MaxOrNan;

impl<S: Simd> Reduction<S> for MaxOrNan {
    const START: f32 = f32::NEG_INFINITY;

    #[inline(always)]
    fn take(self, simd: S, total: S::F, value: S::F) -> S::F {
        simd.max_nan(total, value)
    }
    #[inline(always)]
    fn join(self, simd: S, a: S::F, b: S::F) -> S::F {
        simd.max_nan(a, b)
    }
    #[inline(always)]
    fn finish(self, simd: S, total: S::F) -> f32 {
        simd.reduce_max(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_simd::{Body, available, dispatch};
    use proofmark_tensor::bf16;
    use proofmark_terms::Isa;

    struct All<'a, T>(&'a [T]);

    impl<T: Stored> Body for All<'_, T> {
        type Output = [f32; 5];

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> [f32; 5] {
            let deviations = squared_deviations(simd, self.0, 3.0);
            let (max, or_nan) = (max(simd, self.0), max_or_nan(simd, self.0));
            [sum_of_squares(simd, self.0), deviations, sum(simd, self.0), max, or_nan]
        }
    }

    fn at_every_level<T: Stored>(row: &[T], expected: [f32; 5]) {
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
            let deviations = row.iter().map(|x| (x - 3.0) * (x - 3.0)).sum();
            let expected = [squares, deviations, row.iter().sum(), largest, largest];
            at_every_level(&row, expected);
            let stored: Vec<bf16> = row.iter().map(|&x| bf16::from_f32(x)).collect();
            at_every_level(&stored, expected);
        }
    }

    #[test]
    fn the_largest_is_found_at_every_position_and_past_nans() {
        for at in 0..150 {
            let mut row = vec![-3.0f32; 150];
            row[at] = -1.0;
            row[(at + 37) % 150] = f32::NAN;
            for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
                let [squares, deviations, total, largest, or_nan] = dispatch(isa, All(&row));
                let nans = [squares, deviations, total, or_nan];
                assert!(nans.iter().all(|x| x.is_nan()), "{isa} at {at}");
                assert_eq!(largest, -1.0, "{isa} at {at}");
            }
        }
    }
}
