//! One pass over groups of columns: a vector's lanes are as many transforms side by side.
//!
//! Idea: no stage shuffles. A group's points are read as vectors, pass through the stages of an
//! autosorting (Stockham) transform in memory that stays in the first cache, and leave as rows of
//! complex numbers, or with factors and turned over for the pass along the other axis. The only
//! shuffles are where pairs are taken apart, squares turned over and pairs put together.
//! 16 vectors of points, and factors broadcast from memory, for a radix of 8.

use super::butterfly::{Pair, butterfly, product, spread};
use super::plan::Column;
use proofmark_simd::{Body, Simd};
use std::ops::Range;

/// Where a pass reads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// Rows of complex numbers, `stride` floats apart.
    Pairs { first: *const f32, stride: usize, is_swapped: bool },
    /// For each group, for each row, real parts and then imaginary parts; so many floats a group.
    Parts { first: *const f32, group: usize },
}

/// Where a pass writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sink {
    /// Rows of complex numbers, `stride` floats apart, times a factor.
    Pairs { first: *mut f32, stride: usize, is_swapped: bool, scale: f32 },
    /// Times these factors and turned over, as [`Source::Parts`] reads it; so many floats a group.
    Turned { first: *mut f32, group: usize, between: *const f32 },
}

/// Groups of columns, each a vector's lanes wide, through a transform.
#[derive(Debug)]
pub(super) struct Pass<'a> {
    /// The transform.
    pub(super) column: &'a Column,
    /// The plan's tables.
    pub(super) tables: &'a [f32],
    /// Columns in all.
    pub(super) columns: usize,
    /// Which groups.
    pub(super) groups: Range<usize>,
    /// Where from.
    pub(super) source: Source,
    /// Where to.
    pub(super) sink: Sink,
    /// Two buffers, each with room for all rows, as many as fill a whole number of vectors.
    pub(super) scratch: [*mut f32; 2],
}

impl Body for Pass<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for group in self.groups.clone() {
            let lanes = (self.columns - group * S::LANES).min(S::LANES);
            // SAFETY: whoever makes a pass vouches for its memory.
            unsafe {
                let points = self.stages(simd, self.reader(simd, group, lanes));
                match self.sink {
                    Sink::Pairs { .. } => self.store(simd, points, group, lanes),
                    Sink::Turned { .. } => self.turn(simd, points, group),
                }
            }
        }
    }
}

/// How a group's points are read.
#[derive(Clone, Copy)]
struct Reader {
    first: *const f32,
    stride: usize,
    lanes: usize,
    are_pairs: bool,
    is_swapped: bool,
}

impl Reader {
    /// # Safety
    /// Row `row` is readable.
    #[inline(always)]
    unsafe fn read<S: Simd>(self, simd: S, row: usize) -> Pair<S> {
        // SAFETY: as the caller vouches; of the last group only its own lanes are read.
        unsafe {
            let at = self.first.add(row * self.stride);
            let (a, b) = if self.lanes == S::LANES {
                (simd.load_ptr(at), simd.load_ptr(at.add(S::LANES)))
            } else {
                let pairs = std::slice::from_raw_parts(at, 2 * self.lanes);
                let (low, high) = pairs.split_at(S::LANES.min(2 * self.lanes));
                (simd.load_partial(low, 0.0), simd.load_partial(high, 0.0))
            };
            if !self.are_pairs {
                return (a, b);
            }
            let (re, im) = simd.unzip(a, b);
            if self.is_swapped { (im, re) } else { (re, im) }
        }
    }
}

impl Pass<'_> {
    #[inline(always)]
    fn reader<S: Simd>(&self, _: S, group: usize, lanes: usize) -> Reader {
        match self.source {
            Source::Pairs { first, stride, is_swapped } => {
                let first = first.wrapping_add(2 * group * S::LANES);
                Reader { first, stride, lanes, are_pairs: true, is_swapped }
            }
            Source::Parts { first, group: floats } => {
                let first = first.wrapping_add(group * floats);
                let (stride, lanes) = (2 * S::LANES, S::LANES);
                Reader { first, stride, lanes, are_pairs: false, is_swapped: false }
            }
        }
    }

    /// All stages; where the result lies.
    ///
    /// # Safety
    /// The pass's memory is as its fields say.
    #[inline(always)]
    unsafe fn stages<S: Simd>(&self, simd: S, mut reader: Reader) -> *mut f32 {
        let [mut target, mut other] = self.scratch;
        // SAFETY: as the caller vouches.
        unsafe {
            if self.column.count == 0 {
                let (re, im) = reader.read(simd, 0);
                simd.store_ptr(re, target);
                simd.store_ptr(im, target.add(S::LANES));
                return target;
            }
            let mut table = self.tables.as_ptr().wrapping_add(self.column.table);
            let (mut length, mut step) = (self.column.n, 1);
            for &radix in &self.column.radices[..self.column.count] {
                let radix = usize::from(radix);
                let at = At { butterflies: length / radix, step, table, target };
                match radix {
                    2 => stage::<S, 2>(simd, reader, at),
                    3 => stage::<S, 3>(simd, reader, at),
                    4 => stage::<S, 4>(simd, reader, at),
                    5 => stage::<S, 5>(simd, reader, at),
                    7 => stage::<S, 7>(simd, reader, at),
                    8 => stage::<S, 8>(simd, reader, at),
                    11 => stage::<S, 11>(simd, reader, at),
                    _ => stage::<S, 13>(simd, reader, at),
                }
                table = table.wrapping_add(Column::floats(radix, at.butterflies));
                (length, step) = (at.butterflies, step * radix);
                let (first, stride, lanes) = (target.cast_const(), 2 * S::LANES, S::LANES);
                reader = Reader { first, stride, lanes, are_pairs: false, is_swapped: false };
                (target, other) = (other, target);
            }
        }
        other
    }

    /// # Safety
    /// The pass's memory is as its fields say.
    #[inline(always)]
    unsafe fn store<S: Simd>(&self, simd: S, points: *mut f32, group: usize, lanes: usize) {
        let Sink::Pairs { first, stride, is_swapped, scale } = self.sink else { return };
        let scale = simd.splat(scale);
        let first = first.wrapping_add(2 * group * S::LANES);
        for row in 0..self.column.n {
            // SAFETY: as the caller vouches; of the last group only its own lanes are written.
            unsafe {
                let at = points.add(row * 2 * S::LANES);
                let re = simd.mul(scale, simd.load_ptr(at));
                let im = simd.mul(scale, simd.load_ptr(at.add(S::LANES)));
                let (low, high) = if is_swapped { simd.zip(im, re) } else { simd.zip(re, im) };
                let target = first.add(row * stride);
                if lanes == S::LANES {
                    simd.store_ptr(low, target);
                    simd.store_ptr(high, target.add(S::LANES));
                } else {
                    let pairs = std::slice::from_raw_parts_mut(target, 2 * lanes);
                    let (lower, upper) = pairs.split_at_mut(S::LANES.min(2 * lanes));
                    simd.store_partial(low, lower);
                    simd.store_partial(high, upper);
                }
            }
        }
    }

    /// # Safety
    /// The pass's memory is as its fields say.
    #[inline(always)]
    unsafe fn turn<S: Simd>(&self, simd: S, points: *mut f32, group: usize) {
        let Sink::Turned { first, group: floats, between } = self.sink else { return };
        let (rows, width) = (self.column.n, 2 * S::LANES);
        let between = between.wrapping_add(group * rows * width);
        // SAFETY: as the caller vouches: buffers have whole squares of rows.
        unsafe {
            for row in 0..rows {
                let (at, factor) = (points.add(row * width), between.add(row * width));
                let point = (simd.load_ptr(at), simd.load_ptr(at.add(S::LANES)));
                let factor = (simd.load_ptr(factor), simd.load_ptr(factor.add(S::LANES)));
                let (re, im) = product(simd, point, factor);
                simd.store_ptr(re, at);
                simd.store_ptr(im, at.add(S::LANES));
            }
            // Rubbish may be slow numbers.
            for row in rows..rows.next_multiple_of(S::LANES) {
                simd.store_ptr(simd.zero(), points.add(row * width));
                simd.store_ptr(simd.zero(), points.add(row * width + S::LANES));
            }
            for square in 0..rows.div_ceil(S::LANES) {
                let from = points.add(square * S::LANES * width);
                let to = first.add(square * floats + group * S::LANES * width);
                simd.transpose_ptr(from, width, to, width);
                simd.transpose_ptr(from.add(S::LANES), width, to.add(S::LANES), width);
            }
        }
    }
}

/// Where a stage works.
#[derive(Clone, Copy)]
struct At {
    /// Butterflies of different factors.
    butterflies: usize,
    /// Butterflies of the same factors, side by side.
    step: usize,
    table: *const f32,
    target: *mut f32,
}

/// One stage: point `i` of butterfly (p, q) is read at `q + step·(p + butterflies·i)`, and result
/// `j` is written, times exp(−2πi·p·j/length), at `q + step·(R·p + j)`.
///
/// # Safety
/// All rows are readable, the target is writable for as many, and the table is the stage's.
#[inline(always)]
unsafe fn stage<S: Simd, const R: usize>(simd: S, reader: Reader, at: At) {
    let At { butterflies, step, table, target } = at;
    let twiddles = table.wrapping_add(if R.is_multiple_of(2) { 0 } else { 2 * R });
    for p in 0..butterflies {
        let factors = twiddles.wrapping_add(2 * (R - 1) * (p.max(1) - 1));
        for q in 0..step {
            // SAFETY: as the caller vouches.
            unsafe {
                let mut points = [(simd.zero(), simd.zero()); R];
                for i in 0..R {
                    points[i] = reader.read(simd, q + step * (p + butterflies * i));
                }
                points = butterfly(simd, points, table);
                if p > 0 {
                    for j in 1..R {
                        let factor = spread(simd, factors.add(2 * (j - 1)));
                        points[j] = product(simd, points[j], factor);
                    }
                }
                for j in 0..R {
                    let to = target.add((q + step * (R * p + j)) * 2 * S::LANES);
                    simd.store_ptr(points[j].0, to);
                    simd.store_ptr(points[j].1, to.add(S::LANES));
                }
            }
        }
    }
}
