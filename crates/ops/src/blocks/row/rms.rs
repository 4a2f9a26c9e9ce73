//! RMS normalisation of one row, which several ops do to rows of their own.

use super::{reduce, vectors};
use crate::blocks::stored::Stored;
use proofmark_simd::Simd;

/// Terms of the scalar kernel's shorter sums, because one long chain of additions would lose
/// digits: about the root of a usual row's length.
const BLOCK: usize = 64;

/// What is the same for all rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rms {
    /// What is added to the mean square.
    pub(crate) eps: f32,
    /// What is added to the weights: 1 or 0.
    pub(crate) one: f32,
}

impl Rms {
    /// `y = x · r · (w + one)`, one element at a time, in two passes. 4 flops an element.
    pub(crate) fn scalar<T: Stored>(self, x: &[T], w: &[T], y: &mut [T]) {
        let of_block = |x: &[T]| x.iter().map(|x| x.widen() * x.widen()).sum::<f32>();
        let squares: f32 = x.chunks(BLOCK).map(of_block).sum();
        let r = 1.0 / (squares / x.len() as f32 + self.eps).sqrt();
        for ((x, w), y) in x.iter().zip(w).zip(y) {
            *y = T::narrow(x.widen() * r * (w.widen() + self.one));
        }
    }

    /// The same in vectors: a first pass sums the squares in four accumulators, a second
    /// multiplies; the row is in L1 by then (up to 8192 f32). Traffic x and y
    /// once and w from cache, 8 bytes an f32 element; memory is the limit.
    #[inline(always)]
    pub(crate) fn simd<S: Simd, T: Stored>(self, simd: S, x: &[T], w: &[T], y: &mut [T]) {
        let mean = reduce::sum_of_squares(simd, x) / x.len() as f32;
        let r = simd.splat(1.0 / (mean + self.eps).sqrt());
        let one = simd.splat(self.one);
        vectors!(S, simd, [x: T in x, w: T in w] => y: T in y, {
            simd.mul(simd.mul(x, r), simd.add(w, one))
        });
    }
}
