//! Products with few rows: the right operand is read once, as it is stored, and never packed.
//!
//! With so few rows the memory that holds the right operand is the limit, so nothing may stand
//! between it and the sums. The left operand is widened first and stays in the caches.
//!
//! Stored `n × k`: dot products, one vector of sums for each element, so a row of the right operand
//! is a stream. Stored `k × n`: a few rows of the right operand at a time are added to the sums
//! of many columns, so that they are streams too. In both, the order of an element's sum depends
//! on `k` and the vector alone.

use super::epilogue::{Epilogue, load};
use crate::blocks::stored::Stored;
use proofmark_simd::{Body, Simd};
use proofmark_tensor::{Rows, RowsMut};
use proofmark_terms::Isa;

/// Rows up to which nothing is packed: packing reads and writes the right operand once, which a
/// product of so few rows does not earn back. Reasoned, not tuned.
pub const SKINNY_ROWS: usize = 16;

/// Longest vector, to which rows of the widened left operand are padded.
const PAD: usize = 16;
/// Terms at a time of dot products with several rows: those of four columns stay in L1.
const TERMS: usize = 1024;
/// Rows of a right operand stored `k × n` that are added at a time.
const STREAMS: usize = 8;
/// Sums of the columns at hand, over all rows: 64 KiB. They come from L2 once for [`STREAMS`]
/// terms, and runs of the right operand are long.
const SUMS: usize = 16_384;
/// Columns between a load of the right operand and the fetch of what will be loaded.
const AHEAD: usize = 64;

/// A product of at most [`SKINNY_ROWS`] rows on one thread, or the part of one that falls to it.
#[derive(Debug)]
pub struct Skinny<'a, T, U> {
    /// The left operand, `m × k`.
    pub left: Rows<'a, T>,
    /// The right operand with all its columns: `k × n`, or `n × k` if it is transposed.
    pub right: Rows<'a, T>,
    /// Rows of the right operand are columns of the product.
    pub transposed: bool,
    /// The column of the right operand that column 0 of `output` belongs to.
    pub first_column: usize,
    /// The columns wanted of the product.
    pub output: RowsMut<'a, U>,
    /// What is done to the sums.
    pub epilogue: Epilogue<'a, T>,
    /// [`skinny_scratch`] floats of rubbish.
    pub scratch: &'a mut [f32],
}

/// Floats of scratch memory for `m` rows of `k` terms.
pub fn skinny_scratch(m: usize, k: usize) -> usize {
    m * (k.next_multiple_of(PAD) + 3 * PAD) + SUMS
}

impl<T: Stored, U: Stored> Body for Skinny<'_, T, U> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let (m, k) = (self.left.rows(), self.left.cols());
        assert!(m <= SKINNY_ROWS && m == self.output.rows(), "{m} rows are not few");
        let depth = k.next_multiple_of(PAD);
        let (left, sums) = core::mem::take(&mut self.scratch).split_at_mut(m * depth);
        for i in 0..m {
            widen(simd, self.left.row(i), &mut left[i * depth..][..depth]);
        }
        if !self.transposed {
            return self.streams(simd, left, depth, sums);
        }
        // The level is a constant of `S`, so one arm is left in each instance: 16 sums and 4
        // vectors of columns fit 32 registers, 8 and 4 fit 16.
        match (m, S::ISA) {
            (1, Isa::Avx512) => self.dots::<S, 1, 8>(simd, left, depth),
            (1, _) => self.dots::<S, 1, 4>(simd, left, depth),
            (_, Isa::Avx512) => self.dots::<S, 4, 4>(simd, left, depth),
            _ => self.dots::<S, 2, 4>(simd, left, depth),
        }
    }
}

/// Widens a row and pads it by zeros.
#[inline(always)]
fn widen<S: Simd, T: Stored>(simd: S, from: &[T], to: &mut [f32]) {
    let mut at = 0;
    while at < to.len() {
        let rest = &from[at.min(from.len())..];
        simd.store(load(simd, rest), &mut to[at..]);
        at += S::LANES;
    }
}

impl<T: Stored, U: Stored> Skinny<'_, T, U> {
    /// `C` columns at a time, over all rows in groups of `R`.
    #[inline(always)]
    fn dots<S: Simd, const R: usize, const C: usize>(
        &mut self,
        simd: S,
        left: &[f32],
        depth: usize,
    ) {
        let (m, n, k) = (self.left.rows(), self.output.cols(), self.left.cols());
        let mut column = 0;
        while column < n {
            let count = C.min(n - column);
            // A column past the edge repeats the last one; its sums are not stored.
            let mut columns = [&[] as &[T]; C];
            for c in 0..C {
                columns[c] = self.right.row(self.first_column + column + c.min(count - 1));
            }
            let mut sums = [[simd.zero(); C]; SKINNY_ROWS];
            let mut start = 0;
            while start < k {
                let end = k.min(start + TERMS);
                let mut row = 0;
                while row < m {
                    let mut rows = [&[] as &[f32]; R];
                    for r in 0..R {
                        rows[r] = &left[(row + r).min(m - 1) * depth..][..depth];
                    }
                    let (groups, _) = sums.as_chunks_mut::<R>();
                    dot(simd, rows, columns, start, end, &mut groups[row / R]);
                    row += R;
                }
                start = end;
            }
            for row in 0..m {
                let mut totals = [0.0; C];
                for c in 0..C {
                    totals[c] = simd.reduce_sum(sums[row][c]);
                }
                let to = &mut self.output.row_mut(row)[column..column + count];
                self.epilogue.store(simd, &totals, self.first_column + column, to);
            }
            column += C;
        }
    }

    /// A few rows of the right operand at a time, over as many columns as sums stay in L1.
    #[inline(always)]
    fn streams<S: Simd>(&mut self, simd: S, left: &[f32], depth: usize, sums: &mut [f32]) {
        let (m, n, k) = (self.left.rows(), self.output.cols(), self.left.cols());
        let most = n.min(SUMS / m.max(1));
        // An odd number of cache lines, so that the sums of different rows lie in different sets.
        let width = most.next_multiple_of(2 * PAD) + PAD;
        let mut column = 0;
        while column < n {
            let count = most.min(n - column);
            let from = self.first_column + column;
            sums[..m * width].fill(0.0);
            let mut term = 0;
            while term < k {
                let mut streams = [&[] as &[T]; STREAMS];
                let rows = STREAMS.min(k - term);
                for s in 0..rows {
                    streams[s] = &self.right.row(term + s)[from..from + count];
                }
                if rows == STREAMS {
                    Terms { streams, left, depth, term }.add(simd, sums, width);
                } else {
                    for s in 0..rows {
                        let streams = [streams[s]];
                        Terms { streams, left, depth, term: term + s }.add(simd, sums, width);
                    }
                }
                term += rows;
            }
            for row in 0..m {
                let to = &mut self.output.row_mut(row)[column..column + count];
                self.epilogue.store(simd, &sums[row * width..][..count], from, to);
            }
            column += count;
        }
    }
}

/// Adds the products of the terms from `start` to `end` to `R × C` vectors of sums. `start` is a
/// multiple of every vector's length.
#[inline(always)]
fn dot<S: Simd, T: Stored, const R: usize, const C: usize>(
    simd: S,
    rows: [&[f32]; R],
    columns: [&[T]; C],
    start: usize,
    end: usize,
    sums: &mut [[S::F; C]; R],
) {
    let mut own = *sums;
    let mut at = start;
    while at < end {
        let is_whole = end - at >= S::LANES;
        let mut vectors = [simd.zero(); C];
        for c in 0..C {
            vectors[c] = if is_whole {
                // SAFETY: `end` is at most the length of every column, and `at + LANES` of `end`.
                T::load(simd, unsafe { columns[c].get_unchecked(at..at + S::LANES) })
            } else {
                T::load_partial(simd, &columns[c][at..end], 0.0)
            };
        }
        for r in 0..R {
            // SAFETY: rows are padded to a multiple of the vector's length, past `at`.
            let row = unsafe { simd.load_ptr(rows[r].as_ptr().add(at)) };
            for c in 0..C {
                own[r][c] = simd.fma(row, vectors[c], own[r][c]);
            }
        }
        at += S::LANES;
    }
    *sums = own;
}

/// `P` rows of the right operand, from `term` on.
struct Terms<'a, T, const P: usize> {
    streams: [&'a [T]; P],
    /// Rows of the left operand, `depth` apart.
    left: &'a [f32],
    depth: usize,
    term: usize,
}

impl<T: Stored, const P: usize> Terms<'_, T, P> {
    /// Adds them, each times its term of every left row, to the sums, whose rows are `width` apart.
    #[inline(always)]
    fn add<S: Simd>(&self, simd: S, sums: &mut [f32], width: usize) {
        let count = self.streams[0].len();
        let mut at = 0;
        // Two vectors for each left term that is loaded: with one, loads take longer than sums. 16
        // registers cannot hold as many.
        while S::ISA == Isa::Avx512 && at + 2 * S::LANES <= count {
            self.add_vectors::<S, 2>(simd, at, sums, width);
            at += 2 * S::LANES;
        }
        while at < count {
            self.add_vectors::<S, 1>(simd, at, sums, width);
            at += S::LANES;
        }
    }

    /// The same for `V` vectors of columns from `at` on, the last of which may be an edge.
    #[inline(always)]
    fn add_vectors<S: Simd, const V: usize>(
        &self,
        simd: S,
        at: usize,
        sums: &mut [f32],
        width: usize,
    ) {
        let Terms { ref streams, left, depth, term } = *self;
        let rows = left.len().checked_div(depth).unwrap_or(0);
        if rows == 0 {
            return;
        }
        let last = (rows - 1) * width + at + V * S::LANES;
        assert!(term + P <= depth && last <= sums.len(), "terms or sums past the last");
        let mut vectors = [[simd.zero(); V]; P];
        for p in 0..P {
            for v in 0..V {
                let from = &streams[p][at + v * S::LANES..];
                vectors[p][v] = load(simd, from);
                simd.prefetch(from.as_ptr().wrapping_add(AHEAD).cast());
            }
        }
        let mut factors = left[term..].as_ptr();
        let mut place = sums[at..].as_mut_ptr();
        let mut row = 0;
        while row < rows {
            let mut own = [simd.zero(); V];
            for v in 0..V {
                // SAFETY: the vectors of the last row end at `last`, which `sums` holds.
                own[v] = unsafe { simd.load_ptr(place.add(v * S::LANES)) };
            }
            for p in 0..P {
                // SAFETY: `left` has `rows` rows of `depth` terms, and `term + P` is at most that.
                let factor = simd.splat(unsafe { *factors.add(p) });
                for v in 0..V {
                    own[v] = simd.fma(factor, vectors[p][v], own[v]);
                }
            }
            for v in 0..V {
                // SAFETY: as for the load.
                unsafe { simd.store_ptr(own[v], place.add(v * S::LANES)) };
            }
            factors = factors.wrapping_add(depth);
            place = place.wrapping_add(width);
            row += 1;
        }
    }
}
