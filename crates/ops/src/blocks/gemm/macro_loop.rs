//! The loops around the micro-kernel: blocks of columns, terms and rows, then tiles.

use super::blocking::{Blocking, Keeps, group_of};
use super::epilogue::{Epilogue, load, store};
use super::micro::{Fetch, Tile};
use super::pack::{self, PackedRight};
use crate::blocks::stored::Stored;
use proofmark_simd::{Body, Simd};
use proofmark_tensor::{Rows, RowsMut};
use proofmark_terms::{DType, Isa};
use std::ops::Range;

/// The right operand of a product.
#[derive(Clone, Copy, Debug)]
pub enum Right<'a, T> {
    /// As it is stored: `k × n`, or `n × k` if it is transposed.
    Stored {
        /// The operand.
        rows: Rows<'a, T>,
        /// Rows are columns of the product.
        transposed: bool,
    },
    /// Packed before.
    Packed(PackedRight<'a>),
}

/// One product `C = A·B` on one thread, or the part of one that falls to it.
#[derive(Debug)]
pub struct Gemm<'a, T, U> {
    /// The left operand, `m × k`.
    pub left: Rows<'a, T>,
    /// The right operand with all its columns.
    pub right: Right<'a, T>,
    /// The column of the right operand that column 0 of `output` belongs to; a multiple of
    /// [`Blocking::nr`] if the operand is packed.
    pub first_column: usize,
    /// The columns wanted of the product, `m × n`.
    pub output: RowsMut<'a, U>,
    /// What is done to the sums.
    pub epilogue: Epilogue<'a, T>,
    /// [`Blocking::scratch`] floats of rubbish.
    pub scratch: &'a mut [f32],
}

impl<T: Stored, U: Stored> Body for Gemm<'_, T, U> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let blocking = Blocking::of(S::ISA);
        let Gemm { left, right, first_column, mut output, epilogue, scratch } = self;
        let (m, n, k) = (left.rows(), output.cols(), left.cols());
        assert!(
            output.rows() == m,
            "{m} rows of the left operand, {} of the output",
            output.rows()
        );
        if k == 0 {
            return empty(simd, &epilogue, first_column, output);
        }
        let keeps = Keeps {
            packed_right: matches!(right, Right::Packed(_)),
            f32_output: U::DTYPE == DType::F32,
        };
        let parts = blocking.scratch_parts(m, n, k, keeps);
        let (left_block, rest) = scratch.split_at_mut(parts.left);
        let (right_block, rest) = rest.split_at_mut(parts.right);
        let partial = &mut rest[..parts.sums];
        let across = blocking.across(m, n, keeps);
        for column in (0..n).step_by(across.max(1)) {
            let width = across.min(n - column);
            for start in (0..k).step_by(blocking.kc) {
                let terms = start..k.min(start + blocking.kc);
                let mut panels = Panels {
                    right: &right,
                    terms: terms.clone(),
                    columns: first_column + column..first_column + column + width,
                    nr: blocking.nr,
                    block: &mut *right_block,
                };
                let mut sums = Sums {
                    output: &mut output,
                    epilogue: &epilogue,
                    first_column,
                    column,
                    partial,
                    width,
                    is_first: start == 0,
                    is_last: terms.end == k,
                };
                rows::<S, T, U>(simd, &left, &terms, &mut panels, left_block, &mut sums);
            }
        }
    }
}

/// Where the sums of a block of columns stand between blocks of terms.
struct Sums<'a, 'b, T, U> {
    output: &'a mut RowsMut<'b, U>,
    epilogue: &'a Epilogue<'b, T>,
    /// The column of the right operand that column 0 of `output` belongs to.
    first_column: usize,
    /// First column of the block in `output`.
    column: usize,
    /// Partial sums in f32, `width` apart; empty if the output itself holds them.
    partial: &'a mut [f32],
    width: usize,
    /// These terms are the first: nothing to add to.
    is_first: bool,
    /// These terms are the last: the result is rounded and leaves.
    is_last: bool,
}

/// A tile's place among the sums: its first row and column, and how many of them exist.
#[derive(Clone, Copy)]
struct Place {
    row: usize,
    rows: usize,
    column: usize,
    columns: usize,
}

/// Panels of the right operand over one block of terms and of columns.
struct Panels<'a, T> {
    right: &'a Right<'a, T>,
    terms: Range<usize>,
    /// Columns of the right operand.
    columns: Range<usize>,
    nr: usize,
    /// Room for all panels, or for those of one group.
    block: &'a mut [f32],
}

impl<T: Stored> Panels<'_, T> {
    /// The panel from `column` of the block on. If `packs`, the panels of a group are packed when
    /// the first of them is asked for.
    #[inline(always)]
    fn at<S: Simd>(&mut self, simd: S, column: usize, packs: bool) -> &[f32] {
        let (nr, depth) = (self.nr, self.terms.len());
        let from = self.columns.start + column;
        match self.right {
            Right::Packed(packed) => packed.panel(&self.terms, from, nr),
            Right::Stored { rows, transposed } => {
                let group = group_of(*transposed, nr);
                let has_all = self.block.len() >= self.columns.len().next_multiple_of(nr) * depth;
                let at = if has_all { column } else { column % group };
                if packs && column.is_multiple_of(group) {
                    let wanted = from..self.columns.end.min(from + group);
                    let count = wanted.len().div_ceil(nr);
                    let block = &mut self.block[at * depth..][..count * nr * depth];
                    let mut to = RowsMut::from_slice(block, count, nr * depth);
                    pack::right(simd, rows, *transposed, self.terms.clone(), wanted, nr, &mut to);
                }
                &self.block[at * depth..][..nr * depth]
            }
        }
    }

    /// What tile `index` fetches of the panel from `column` on.
    #[inline(always)]
    fn fetch(&self, column: usize, index: usize) -> Fetch {
        if column >= self.columns.len() {
            return nothing(self.block.as_ptr());
        }
        let from = self.columns.start + column;
        let panel = from..self.columns.end.min(from + self.nr);
        match self.right {
            Right::Packed(packed) => {
                let lines = self.terms.len();
                let at = packed.panel(&self.terms, from, self.nr).as_ptr();
                if index * LINE >= self.nr {
                    return nothing(at);
                }
                let at = at.wrapping_add(index * lines * LINE);
                Fetch { at, step: LINE, lines, stride: 0 }
            }
            // A group is read as streams, which the processor fetches by itself.
            Right::Stored { rows, transposed: false } => nothing(rows.as_ptr().cast()),
            Right::Stored { rows, transposed: true } => along(rows, panel, &self.terms, index),
        }
    }
}

/// Floats of a cache line.
const LINE: usize = 16;

/// Fetches one line again and again.
#[inline(always)]
fn nothing(at: *const f32) -> Fetch {
    Fetch { at, step: 0, lines: usize::MAX, stride: 0 }
}

/// Fetches part `index` of some terms of some rows, as many lines as the terms are.
///
/// It fetches no row after them: where rows lie a power of two apart, lines share few sets of L2,
/// and those that come too early are gone before they are packed.
#[inline(always)]
fn along<T: Stored>(
    rows: &Rows<'_, T>,
    wanted: Range<usize>,
    terms: &Range<usize>,
    index: usize,
) -> Fetch {
    let lines = (terms.len() * size_of::<T>()).div_ceil(LINE * size_of::<f32>());
    let row = wanted.start + index * (terms.len() / lines);
    let at = rows.as_ptr().wrapping_add(row * rows.row_stride() + terms.start).cast();
    if row >= wanted.end {
        return nothing(rows.as_ptr().cast());
    }
    let stride = rows.row_stride() * size_of::<T>() / size_of::<f32>();
    Fetch { at, step: LINE, lines, stride }
}

/// The loop over blocks of rows, and over the tiles of each.
#[inline(always)]
fn rows<S: Simd, T: Stored, U: Stored>(
    simd: S,
    left: &Rows<'_, T>,
    terms: &Range<usize>,
    panels: &mut Panels<'_, T>,
    left_block: &mut [f32],
    sums: &mut Sums<'_, '_, T, U>,
) {
    let blocking = Blocking::of(S::ISA);
    let Blocking { mc, nr, .. } = blocking;
    let mut block = 0;
    while block < left.rows() {
        let own = block..left.rows().min(block + mc);
        let height = blocking.height(own.len());
        pack::left(simd, left, own.clone(), terms.clone(), height, left_block);
        let mut column = 0;
        while column < sums.width {
            let columns = nr.min(sums.width - column);
            let mut row = own.start;
            let mut index = 0;
            while row < own.end {
                // Beside the first rows the next panel comes, then the next block of rows.
                let fetch = if block == 0 {
                    panels.fetch(column + nr, index)
                } else {
                    let next = own.end..left.rows().min(own.end + mc);
                    along(left, next, terms, column / nr)
                };
                let right = panels.at(simd, column, block == 0 && index == 0);
                let from = (row - own.start) * terms.len();
                let left = &left_block[from..from + height * terms.len()];
                let place = Place { row, rows: height.min(own.end - row), column, columns };
                let panel = Pair { left, right, fetch };
                match (S::ISA, height) {
                    (Isa::Scalar, _) => sums.add::<S, 4, 4>(simd, panel, place),
                    (Isa::Avx2, 6) => sums.add::<S, 6, 2>(simd, panel, place),
                    (Isa::Avx2, 5) => sums.add::<S, 5, 2>(simd, panel, place),
                    (Isa::Avx2, _) => sums.add::<S, 4, 2>(simd, panel, place),
                    (Isa::Avx512, 14) => sums.add::<S, 14, 2>(simd, panel, place),
                    (Isa::Avx512, 12) => sums.add::<S, 12, 2>(simd, panel, place),
                    (Isa::Avx512, 11) => sums.add::<S, 11, 2>(simd, panel, place),
                    (Isa::Avx512, 10) => sums.add::<S, 10, 2>(simd, panel, place),
                    (Isa::Avx512, 8) => sums.add::<S, 8, 2>(simd, panel, place),
                    (Isa::Avx512, 6) => sums.add::<S, 6, 2>(simd, panel, place),
                    (Isa::Avx512, _) => sums.add::<S, 4, 2>(simd, panel, place),
                }
                row += height;
                index += 1;
            }
            column += nr;
        }
        block += mc;
    }
}

/// A panel of each operand, over the same terms.
struct Pair<'a> {
    left: &'a [f32],
    right: &'a [f32],
    fetch: Fetch,
}

impl<T: Stored, U: Stored> Sums<'_, '_, T, U> {
    /// Adds the product of two panels.
    #[inline(always)]
    fn add<S: Simd, const MR: usize, const NV: usize>(
        &mut self,
        simd: S,
        Pair { left, right, fetch }: Pair<'_>,
        place: Place,
    ) {
        let is_whole = place.rows == MR && place.columns == NV * S::LANES;
        let ends = self.is_last && !(U::DTYPE == DType::F32 && self.epilogue.is_none());
        let adds = !self.is_first;
        if is_whole && let Some(sums) = self.held(&place) {
            simd.apart(Tile::<MR, NV> { left, right, sums, adds, fetch });
            if ends {
                self.end::<S>(simd, &place, None);
            }
            return;
        }
        let mut edge = [0.0_f32; MOST_SUMS];
        let width = NV * S::LANES;
        let sums = RowsMut::from_slice(&mut edge[..MR * width], MR, width);
        simd.apart(Tile::<MR, NV> { left, right, sums, adds: false, fetch });
        if let Some(mut held) = self.held(&place) {
            let mut i = 0;
            while i < place.rows {
                add_row(simd, &edge[i * width..], held.row_mut(i), adds);
                i += 1;
            }
            if ends {
                self.end::<S>(simd, &place, None);
            }
        } else {
            self.end::<S>(simd, &place, Some((&edge, width)));
        }
    }

    /// The memory that holds the sums of a place between blocks of terms, if any does.
    #[inline(always)]
    fn held(&mut self, place: &Place) -> Option<RowsMut<'_, f32>> {
        let Place { row, rows, column, columns } = *place;
        if !self.partial.is_empty() {
            let last = (row + rows - 1) * self.width + column + columns;
            let from = &mut self.partial[row * self.width + column..last];
            // SAFETY: `from` ends where the last of `rows` rows, `width` apart, does.
            return Some(unsafe {
                RowsMut::from_raw(from.as_mut_ptr(), rows, columns, self.width)
            });
        }
        if U::DTYPE != DType::F32 {
            return None;
        }
        let mut lines = self.output.range(row..row + rows);
        let from = self.column + column;
        let mut block = lines.columns(from..from + columns);
        let (at, stride) = (block.as_mut_ptr(), block.row_stride());
        // SAFETY: the same rows, borrowed as long as `self` is; their elements are f32.
        Some(unsafe { RowsMut::from_raw(at.cast::<f32>(), rows, columns, stride) })
    }

    /// Ends the sums of a place, which are held or given with the length of their rows.
    #[inline(always)]
    fn end<S: Simd>(&mut self, simd: S, place: &Place, given: Option<(&[f32], usize)>) {
        let mut i = 0;
        while i < place.rows {
            let mut line = [0.0_f32; MOST_COLUMNS];
            let line = &mut line[..place.columns];
            match (given, self.held(place)) {
                (Some((sums, width)), _) => {
                    line.copy_from_slice(&sums[i * width..][..place.columns]);
                }
                (None, Some(held)) => line.copy_from_slice(held.row(i)),
                (None, None) => unreachable!("sums that are not given are held"),
            }
            let at = self.column + place.column;
            let to = &mut self.output.row_mut(place.row + i)[at..at + place.columns];
            self.epilogue.store(simd, line, self.first_column + at, to);
            i += 1;
        }
    }
}

/// Adds a row of sums to what is held, or writes it there.
#[inline(always)]
fn add_row<S: Simd>(simd: S, sums: &[f32], held: &mut [f32], adds: bool) {
    let mut at = 0;
    while at < held.len() {
        let to = at..held.len().min(at + S::LANES);
        let mut sum = load(simd, &sums[to.clone()]);
        if adds {
            sum = simd.add(load(simd, &held[to.clone()]), sum);
        }
        store(simd, sum, &mut held[to]);
        at += S::LANES;
    }
}

/// Columns of the widest register tile.
const MOST_COLUMNS: usize = 32;
/// Sums of the largest register tile.
const MOST_SUMS: usize = 14 * MOST_COLUMNS;

/// A product without terms: the epilogue of zeros.
#[inline(always)]
fn empty<S: Simd, T: Stored, U: Stored>(
    simd: S,
    epilogue: &Epilogue<'_, T>,
    first_column: usize,
    mut output: RowsMut<'_, U>,
) {
    let zeros = [0.0; 64];
    for row in 0..output.rows() {
        for (at, to) in output.row_mut(row).chunks_mut(zeros.len()).enumerate() {
            epilogue.store(simd, &zeros, first_column + at * zeros.len(), to);
        }
    }
}
