//! One stage of a column's transform, from wherever its points lie to wherever they go.

use super::butterfly::{Pair, Turn, butterfly, product, spread};
use proofmark_simd::{Body, Simd};

/// Where a stage reads.
pub(super) trait Reads: Copy {
    /// The points of a row.
    ///
    /// # Safety
    /// The row is readable.
    unsafe fn read<S: Simd>(self, simd: S, row: usize) -> Pair<S>;
}

/// Where a stage writes.
pub(super) trait Writes: Copy {
    /// Writes the points of a row.
    ///
    /// # Safety
    /// The row is writable.
    unsafe fn write<S: Simd>(self, simd: S, row: usize, point: Pair<S>);
}

/// Vectors of real parts, each followed by one of imaginary parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts(pub(super) *mut f32);

/// Rows of complex numbers, `stride` floats apart, a vector's lanes of them each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pairs {
    pub(super) first: *mut f32,
    pub(super) stride: usize,
    /// The factor of what is written.
    pub(super) scale: f32,
}

/// As [`Parts`], times factors that lie likewise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Factored {
    pub(super) to: *mut f32,
    pub(super) by: *const f32,
}

impl Reads for Parts {
    #[inline(always)]
    unsafe fn read<S: Simd>(self, simd: S, row: usize) -> Pair<S> {
        // SAFETY: as the caller vouches.
        unsafe {
            let at = self.0.add(row * 2 * S::LANES);
            (simd.load_ptr(at), simd.load_ptr(at.add(S::LANES)))
        }
    }
}

impl Writes for Parts {
    #[inline(always)]
    unsafe fn write<S: Simd>(self, simd: S, row: usize, (re, im): Pair<S>) {
        // SAFETY: as the caller vouches.
        unsafe {
            let at = self.0.add(row * 2 * S::LANES);
            simd.store_ptr(re, at);
            simd.store_ptr(im, at.add(S::LANES));
        }
    }
}

impl Reads for Pairs {
    #[inline(always)]
    unsafe fn read<S: Simd>(self, simd: S, row: usize) -> Pair<S> {
        // SAFETY: as the caller vouches.
        unsafe {
            let at = self.first.add(row * self.stride);
            simd.unzip(simd.load_ptr(at), simd.load_ptr(at.add(S::LANES)))
        }
    }
}

impl Writes for Pairs {
    #[inline(always)]
    unsafe fn write<S: Simd>(self, simd: S, row: usize, (re, im): Pair<S>) {
        let scale = simd.splat(self.scale);
        let (low, high) = simd.zip(simd.mul(scale, re), simd.mul(scale, im));
        // SAFETY: as the caller vouches.
        unsafe {
            let at = self.first.add(row * self.stride);
            simd.store_ptr(low, at);
            simd.store_ptr(high, at.add(S::LANES));
        }
    }
}

impl Writes for Factored {
    #[inline(always)]
    unsafe fn write<S: Simd>(self, simd: S, row: usize, point: Pair<S>) {
        // SAFETY: as the caller vouches.
        unsafe {
            let factor = Parts(self.by.cast_mut()).read(simd, row);
            Parts(self.to).write(simd, row, product(simd, point, factor));
        }
    }
}

/// What a stage is.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    /// Butterflies of different factors.
    pub(super) butterflies: usize,
    /// Butterflies of the same factors, side by side.
    pub(super) step: usize,
    /// Its roots and factors.
    pub(super) table: *const f32,
    /// With positive exponents.
    pub(super) is_inverse: bool,
}

/// A stage of any radix; the last has no factors.
///
/// # Safety
/// All rows are readable and writable, and the table is the stage's.
#[inline(always)]
pub(super) unsafe fn staged<S: Simd, A: Reads, B: Writes, const LAST: bool>(
    simd: S,
    radix: u8,
    at: At,
    from: A,
    to: B,
) {
    match radix {
        2 => simd.apart(Stage::<A, B, 2, LAST> { at, from, to }),
        3 => simd.apart(Stage::<A, B, 3, LAST> { at, from, to }),
        4 => simd.apart(Stage::<A, B, 4, LAST> { at, from, to }),
        5 => simd.apart(Stage::<A, B, 5, LAST> { at, from, to }),
        7 => simd.apart(Stage::<A, B, 7, LAST> { at, from, to }),
        8 => simd.apart(Stage::<A, B, 8, LAST> { at, from, to }),
        11 => simd.apart(Stage::<A, B, 11, LAST> { at, from, to }),
        _ => simd.apart(Stage::<A, B, 13, LAST> { at, from, to }),
    }
}

/// One stage: point `i` of butterfly (p, q) is read at `q + step·(p + butterflies·i)`, and result
/// `j` is written, times exp(−2πi·p·j/length), at `q + step·(R·p + j)`.
struct Stage<A, B, const R: usize, const LAST: bool> {
    at: At,
    from: A,
    to: B,
}

impl<A: Reads, B: Writes, const R: usize, const LAST: bool> Body for Stage<A, B, R, LAST> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Stage { at: At { butterflies, step, table, is_inverse }, from, to } = self;
        let butterflies = if LAST { 1 } else { butterflies };
        let turn = Turn::new(simd, is_inverse);
        // SAFETY: as the caller of `staged` vouches.
        unsafe {
            for q in 0..step {
                let points = read::<S, A, R>(simd, from, q, step * butterflies);
                let points = butterfly(simd, turn, points, table);
                write(simd, to, q, step, points);
            }
            let mut factors = table.wrapping_add(if R.is_multiple_of(2) { 0 } else { 2 * R });
            for p in 1..butterflies {
                for q in 0..step {
                    let points = read::<S, A, R>(simd, from, q + step * p, step * butterflies);
                    let mut points = butterfly(simd, turn, points, table);
                    for j in 1..R {
                        let factor = spread(simd, factors.add(2 * (j - 1)));
                        points[j] = product(simd, points[j], factor);
                    }
                    write(simd, to, q + step * R * p, step, points);
                }
                factors = factors.add(2 * (R - 1));
            }
        }
    }
}

/// Rows `first`, `first + step` and so on.
///
/// # Safety
/// They are readable.
#[inline(always)]
unsafe fn read<S: Simd, A: Reads, const R: usize>(
    simd: S,
    from: A,
    first: usize,
    step: usize,
) -> [Pair<S>; R] {
    let mut points = [(simd.zero(), simd.zero()); R];
    for i in 0..R {
        // SAFETY: as the caller vouches.
        points[i] = unsafe { from.read(simd, first + step * i) };
    }
    points
}

/// Rows `first`, `first + step` and so on.
///
/// # Safety
/// They are writable.
#[inline(always)]
unsafe fn write<S: Simd, B: Writes, const R: usize>(
    simd: S,
    to: B,
    first: usize,
    step: usize,
    points: [Pair<S>; R],
) {
    for j in 0..R {
        // SAFETY: as the caller vouches.
        unsafe { to.write(simd, first + step * j, points[j]) };
    }
}
