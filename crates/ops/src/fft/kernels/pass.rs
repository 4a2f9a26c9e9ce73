//! One pass over groups of columns: a vector's lanes are as many transforms side by side.
//!
//! Idea: no stage shuffles. A group's points pass through the stages of an autosorting (Stockham)
//! transform in memory that stays in L1. The first stage reads where the points lie. The last
//! writes where they go: as rows of complex numbers, or with factors and transposed for the pass
//! along the other axis. Shuffles are needed only to deinterleave pairs, to transpose squares and
//! to interleave pairs.

use super::butterfly::Pair;
use super::plan::{Column, first_column};
use super::stage::{At, Factored, Pairs, Parts, Reads, Writes, staged};
use proofmark_simd::{Body, Simd};
use std::ops::Range;

/// Where a pass reads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// Rows of complex numbers, `stride` floats apart.
    Pairs { first: *const f32, stride: usize },
    /// For each group, for each row, real parts and then imaginary parts; this many floats a group.
    Parts { first: *const f32, group: usize },
}

/// Where a pass writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sink {
    /// Rows of complex numbers, `stride` floats apart, times a factor.
    Pairs { first: *mut f32, stride: usize, scale: f32 },
    /// Times these factors and transposed, as [`Source::Parts`] reads it; this many floats a group.
    Turned { first: *mut f32, group: usize, between: *const f32 },
}

/// Groups of columns, each a vector's lanes wide, through a transform.
#[derive(Clone, Debug)]
pub(super) struct Pass<'a> {
    /// The transform.
    pub(super) column: &'a Column,
    /// The plan's tables.
    pub(super) tables: &'a [f32],
    /// Columns in all.
    pub(super) columns: usize,
    /// Which groups.
    pub(super) groups: Range<usize>,
    /// Whether the result takes the place of what is read. The last group is then only as wide as
    /// the columns that the others leave. Otherwise it overlaps the group before it where there is
    /// room.
    pub(super) is_in_place: bool,
    /// Where from.
    pub(super) source: Source,
    /// Where to.
    pub(super) sink: Sink,
    /// Two buffers, each with room for all rows, as many as fill a whole number of vectors.
    pub(super) scratch: [*mut f32; 2],
}

/// `lanes` columns, from `column` on.
#[derive(Clone, Copy)]
struct Group {
    index: usize,
    column: usize,
    lanes: usize,
}

/// One pass after the other.
#[derive(Debug)]
pub(super) struct Passes<'a>(pub(super) &'a [Pass<'a>]);

impl Body for Passes<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for pass in self.0 {
            for index in pass.groups.clone() {
                let column = if pass.is_in_place {
                    index * S::LANES
                } else {
                    first_column(index, pass.columns, S::LANES)
                };
                let lanes = (pass.columns - column).min(S::LANES);
                // SAFETY: the code that makes a pass vouches for its memory.
                unsafe { pass.group(simd, Group { index, column, lanes }) };
            }
        }
    }
}

impl Pass<'_> {
    /// A group of columns.
    ///
    /// # Safety
    /// The pass's memory is as its fields say.
    #[inline(always)]
    unsafe fn group<S: Simd>(&self, simd: S, group: Group) {
        // SAFETY: as the caller vouches.
        unsafe {
            let Some(parts) = self.stages(simd, group) else { return };
            match self.sink {
                Sink::Pairs { first, stride, scale } => {
                    let rows = Pairs { first: first.add(2 * group.column), stride, scale };
                    self.scatter(simd, parts, rows, group.lanes);
                }
                Sink::Turned { first, group: floats, .. } => {
                    let to = first.add(2 * S::LANES * group.column);
                    self.turn(simd, parts.0, to, floats);
                }
            }
        }
    }

    /// Where a group's points lie: rows that the first stage can read, or else vectors.
    ///
    /// # Safety
    /// The pass's memory is as its fields say.
    #[inline(always)]
    unsafe fn points<S: Simd>(&self, simd: S, group: Group) -> (Option<Pairs>, Parts) {
        let staging = self.scratch[1];
        let is_turned = matches!(self.sink, Sink::Turned { .. });
        // SAFETY: as the caller vouches.
        unsafe {
            match self.source {
                Source::Parts { first, group: floats } => {
                    (None, Parts(first.add(group.index * floats).cast_mut()))
                }
                Source::Pairs { first, stride } => {
                    let first = first.add(2 * group.column).cast_mut();
                    let rows = Pairs { first, stride, scale: 1.0 };
                    if group.lanes == S::LANES && (is_turned || self.column.count > 1) {
                        return (Some(rows), Parts(staging));
                    }
                    self.gather(simd, rows, group.lanes, staging);
                    (None, Parts(staging))
                }
            }
        }
    }

    /// Runs all stages. Returns where the result lies, if it is not yet where it goes.
    ///
    /// # Safety
    /// The pass's memory is as its fields say.
    #[inline(always)]
    unsafe fn stages<S: Simd>(&self, simd: S, group: Group) -> Option<Parts> {
        let [mut target, mut other] = self.scratch;
        let mut table = self.tables.as_ptr().wrapping_add(self.column.table);
        let (mut length, mut step) = (self.column.n, 1);
        let radices = &self.column.radices[..self.column.count];
        // SAFETY: as the caller vouches.
        unsafe {
            let (mut pairs, mut parts) = self.points(simd, group);
            for (index, &radix) in radices.iter().enumerate() {
                let butterflies = length / usize::from(radix);
                let at = At { butterflies, step, table, is_inverse: self.column.is_inverse };
                let is_last = index + 1 == radices.len();
                match (self.sink, pairs) {
                    (Sink::Turned { between, .. }, pairs) if is_last => {
                        let by = between.add(group.index * self.column.n * 2 * S::LANES);
                        let to = Factored { to: target, by };
                        match pairs {
                            Some(pairs) => staged::<S, _, _, true>(simd, radix, at, pairs, to),
                            None => staged::<S, _, _, true>(simd, radix, at, parts, to),
                        }
                    }
                    (Sink::Pairs { first, stride, scale }, _)
                        if is_last && group.lanes == S::LANES =>
                    {
                        let to = Pairs { first: first.add(2 * group.column), stride, scale };
                        staged::<S, _, _, true>(simd, radix, at, parts, to);
                        return None;
                    }
                    (_, Some(rows)) => {
                        staged::<S, _, _, false>(simd, radix, at, rows, Parts(target));
                    }
                    _ => staged::<S, _, _, false>(simd, radix, at, parts, Parts(target)),
                }
                table = table.wrapping_add(Column::floats(radix.into(), butterflies));
                (length, step) = (butterflies, step * usize::from(radix));
                (pairs, parts) = (None, Parts(target));
                (target, other) = (other, target);
            }
            Some(parts)
        }
    }

    /// Rows of few numbers into vectors.
    ///
    /// # Safety
    /// The pass's memory is as its fields say.
    #[inline(always)]
    unsafe fn gather<S: Simd>(&self, simd: S, rows: Pairs, lanes: usize, to: *mut f32) {
        for row in 0..self.column.n {
            // SAFETY: as the caller vouches; only the group's own lanes are read.
            unsafe {
                let pairs =
                    std::slice::from_raw_parts(rows.first.add(row * rows.stride), 2 * lanes);
                let (low, high) = pairs.split_at(S::LANES.min(2 * lanes));
                let point = simd.unzip(simd.load_partial(low, 0.0), simd.load_partial(high, 0.0));
                Parts(to).write(simd, row, point);
            }
        }
    }

    /// Vectors into rows of few numbers.
    ///
    /// # Safety
    /// The pass's memory is as its fields say.
    #[inline(always)]
    unsafe fn scatter<S: Simd>(&self, simd: S, parts: Parts, rows: Pairs, lanes: usize) {
        let scale = simd.splat(rows.scale);
        for row in 0..self.column.n {
            // SAFETY: as the caller vouches; only the group's own lanes are written.
            unsafe {
                let (re, im): Pair<S> = parts.read(simd, row);
                let (a, b) = simd.zip(simd.mul(scale, re), simd.mul(scale, im));
                let at = rows.first.add(row * rows.stride);
                let pairs = std::slice::from_raw_parts_mut(at, 2 * lanes);
                let (low, high) = pairs.split_at_mut(S::LANES.min(2 * lanes));
                simd.store_partial(a, low);
                simd.store_partial(b, high);
            }
        }
    }

    /// Transposes the squares of a group, each into a group of its own.
    ///
    /// # Safety
    /// The pass's memory is as its fields say.
    #[inline(always)]
    unsafe fn turn<S: Simd>(&self, simd: S, points: *mut f32, to: *mut f32, floats: usize) {
        let (rows, width) = (self.column.n, 2 * S::LANES);
        // SAFETY: as the caller vouches: buffers have whole squares of rows.
        unsafe {
            // Rubbish in these rows may be subnormal numbers, which are slow.
            for row in rows..S::LANES {
                Parts(points).write(simd, row, (simd.zero(), simd.zero()));
            }
            for square in 0..rows.div_ceil(S::LANES) {
                let from = points.add(first_column(square, rows, S::LANES) * width);
                let to = to.add(square * floats);
                simd.transpose_ptr(from, width, to, width);
                simd.transpose_ptr(from.add(S::LANES), width, to.add(S::LANES), width);
            }
        }
    }
}
