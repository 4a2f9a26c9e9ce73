//! What is done to a line of complex numbers outside of a transform: products with a table, and
//! the way between the transform of pairs of reals and that of the reals.

use super::butterfly::{Pair, product};
use proofmark_simd::{Body, Simd};

/// `to[k] = from[k] · by[k] · scale`, with real and imaginary parts swapped before or after.
#[derive(Debug)]
pub(super) struct Products<'a> {
    /// What is multiplied.
    pub(super) from: &'a [f32],
    /// Factors, as many.
    pub(super) by: &'a [f32],
    /// Results, as many.
    pub(super) to: &'a mut [f32],
    /// Swap the parts of `from`.
    pub(super) swaps_from: bool,
    /// Swap the parts of the results.
    pub(super) swaps_to: bool,
    /// A common factor.
    pub(super) scale: f32,
}

#[inline(always)]
fn read<S: Simd>(simd: S, pairs: &[f32]) -> Pair<S> {
    let (low, high) = pairs.split_at(pairs.len().min(S::LANES));
    simd.unzip(simd.load_partial(low, 0.0), simd.load_partial(high, 0.0))
}

#[inline(always)]
fn write<S: Simd>(simd: S, (re, im): Pair<S>, pairs: &mut [f32]) {
    let (a, b) = simd.zip(re, im);
    let (low, high) = pairs.split_at_mut(pairs.len().min(S::LANES));
    simd.store_partial(a, low);
    simd.store_partial(b, high);
}

fn swapped<S: Simd>((re, im): Pair<S>, is_swapped: bool) -> Pair<S> {
    if is_swapped { (im, re) } else { (re, im) }
}

impl Body for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let scale = simd.splat(self.scale);
        let width = 2 * S::LANES;
        let inputs = self.from.chunks(width).zip(self.by.chunks(width));
        for ((from, by), to) in inputs.zip(self.to.chunks_mut(width)) {
            let from = swapped::<S>(read(simd, from), self.swaps_from);
            let (re, im) = product(simd, from, read(simd, by));
            let pair = (simd.mul(scale, re), simd.mul(scale, im));
            write(simd, swapped::<S>(pair, self.swaps_to), to);
        }
    }
}

/// Between Z, the transform of h pairs of reals taken for complex numbers, and X, the first h + 1
/// numbers of the transform of the 2h reals.
///
/// ```text
/// X[k] = E + w^k·O     X[h−k] = conj(E − w^k·O)     w = exp(−2πi/2h)
/// 2E = Z[k] + conj Z[h−k]     2O = −i·(Z[k] − conj Z[h−k])
/// ```
///
/// and back, but for a factor of 2: `Z[k] = E + i·O` with `E = X[k] + conj X[h−k]` and
/// `O = (X[k] − conj X[h−k])·conj(w^k)`.
#[derive(Debug)]
pub(super) struct Fold<'a> {
    /// The h numbers of Z, or the h + 1 of X.
    pub(super) from: *const f32,
    /// The h + 1 numbers of X, or the h of Z; may be `from`.
    pub(super) to: *mut f32,
    /// h.
    pub(super) half: usize,
    /// w^k for k up to h/2.
    pub(super) roots: &'a [f32],
    /// From X to Z.
    pub(super) is_back: bool,
}

impl Body for Fold<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (half, lanes) = (self.half, S::LANES);
        // SAFETY: the code that makes a fold vouches for its memory; k and half − k lie within it.
        unsafe {
            self.ends();
            let mut k = 1;
            while 2 * (k + lanes) <= half {
                // Ascending from k, and descending from half − k.
                let other = half + 1 - k - lanes;
                let a = self.load(simd, k);
                let b = self.load(simd, other);
                let b = (simd.reverse(b.0), simd.reverse(b.1));
                let root = read(simd, &self.roots[2 * k..2 * (k + lanes)]);
                let (x, y) = self.both(simd, a, b, root);
                self.store(simd, x, k);
                self.store(simd, (simd.reverse(y.0), simd.reverse(y.1)), other);
                k += lanes;
            }
            let scalar = proofmark_simd::Scalar::new();
            for k in k..=half / 2 {
                let (a, b) = (self.load(scalar, k), self.load(scalar, half - k));
                let root = (self.roots[2 * k], self.roots[2 * k + 1]);
                let (x, y) = self.both(scalar, a, b, root);
                self.store(scalar, x, k);
                self.store(scalar, y, half - k);
            }
        }
    }
}

impl Fold<'_> {
    /// Numbers 0 and h: real sums of all reals, as they are and with alternating signs.
    ///
    /// # Safety
    /// The fold's memory is as its fields say.
    unsafe fn ends(&self) {
        // SAFETY: as the caller vouches.
        unsafe {
            let last = 2 * self.half;
            let b = if self.is_back { *self.from.add(last) } else { *self.from.add(1) };
            let a = *self.from;
            if self.is_back {
                (*self.to, *self.to.add(1)) = (a + b, a - b);
                return;
            }
            (*self.to, *self.to.add(1)) = (a + b, 0.0);
            (*self.to.add(last), *self.to.add(last + 1)) = (a - b, 0.0);
        }
    }

    /// What numbers k and h − k become, of what they are and w^k.
    #[inline(always)]
    fn both<S: Simd>(&self, simd: S, a: Pair<S>, b: Pair<S>, w: Pair<S>) -> (Pair<S>, Pair<S>) {
        let sum = (simd.add(a.0, b.0), simd.sub(a.1, b.1));
        let rest = (simd.sub(a.0, b.0), simd.add(a.1, b.1));
        if self.is_back {
            let odd = product(simd, rest, (w.0, simd.neg(w.1)));
            let x = (simd.sub(sum.0, odd.1), simd.add(sum.1, odd.0));
            let y = (simd.add(sum.0, odd.1), simd.sub(odd.0, sum.1));
            return (x, y);
        }
        let half = simd.splat(0.5);
        let even = (simd.mul(half, sum.0), simd.mul(half, sum.1));
        let odd = product(simd, (simd.mul(half, rest.1), simd.mul(half, simd.neg(rest.0))), w);
        let x = (simd.add(even.0, odd.0), simd.add(even.1, odd.1));
        let y = (simd.sub(even.0, odd.0), simd.sub(odd.1, even.1));
        (x, y)
    }

    /// # Safety
    /// As many numbers as lanes are readable from number `k` on.
    #[inline(always)]
    unsafe fn load<S: Simd>(&self, simd: S, k: usize) -> Pair<S> {
        // SAFETY: as the caller vouches.
        unsafe {
            let at = self.from.add(2 * k);
            simd.unzip(simd.load_ptr(at), simd.load_ptr(at.add(S::LANES)))
        }
    }

    /// # Safety
    /// As many numbers as lanes are writable from number `k` on.
    #[inline(always)]
    unsafe fn store<S: Simd>(&self, simd: S, (re, im): Pair<S>, k: usize) {
        let (low, high) = simd.zip(re, im);
        // SAFETY: as the caller vouches.
        unsafe {
            let at = self.to.add(2 * k);
            simd.store_ptr(low, at);
            simd.store_ptr(high, at.add(S::LANES));
        }
    }
}
