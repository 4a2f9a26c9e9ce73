//! The loops around the micro-kernel: blocks of columns, terms and rows, then tiles.

use super::blocking::{Blocking, Keeps};
use super::epilogue::{Epilogue, load, store};
use super::micro::{Tile, tile};
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
        // The level is a constant of `S`, so one arm is left in each instance.
        match S::ISA {
            Isa::Scalar => columns::<S, T, U, 4, 4>(simd, self),
            Isa::Avx2 => columns::<S, T, U, 6, 2>(simd, self),
            Isa::Avx512 => columns::<S, T, U, 14, 2>(simd, self),
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

/// The loop over blocks of columns, and over blocks of terms within each.
#[inline(always)]
fn columns<S: Simd, T: Stored, U: Stored, const MR: usize, const NV: usize>(
    simd: S,
    product: Gemm<'_, T, U>,
) {
    let blocking = Blocking::of(S::ISA);
    assert!(blocking.mr == MR && blocking.nr == NV * S::LANES, "tile of another blocking");
    let Gemm { left, right, first_column, mut output, epilogue, scratch } = product;
    let (m, n, k) = (left.rows(), output.cols(), left.cols());
    assert!(output.rows() == m, "{m} rows of the left operand, {} of the output", output.rows());
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
    for column in (0..n).step_by(blocking.nc) {
        let width = blocking.nc.min(n - column);
        for start in (0..k).step_by(blocking.kc) {
            let terms = start..k.min(start + blocking.kc);
            let packed = match &right {
                Right::Packed(packed) => Panels::Whole(packed, first_column + column),
                Right::Stored { rows, transposed } => {
                    let from = first_column + column;
                    let wanted = from..from + width;
                    let (nr, count) = (blocking.nr, width.div_ceil(blocking.nr));
                    let block = &mut right_block[..count * nr * terms.len()];
                    let mut to = RowsMut::from_slice(block, count, nr * terms.len());
                    pack::right(simd, rows, *transposed, terms.clone(), wanted, nr, &mut to);
                    Panels::Block(right_block)
                }
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
            rows::<S, T, U, MR, NV>(simd, &left, &terms, &packed, left_block, &mut sums);
        }
    }
}

/// Right panels over one block of terms.
enum Panels<'a> {
    /// Of this block of columns only.
    Block(&'a [f32]),
    /// Of the whole operand, with the column where the block begins.
    Whole(&'a PackedRight<'a>, usize),
}

impl Panels<'_> {
    #[inline(always)]
    fn at(&self, terms: &Range<usize>, column: usize, nr: usize) -> &[f32] {
        match self {
            Panels::Block(data) => &data[column * terms.len()..][..terms.len() * nr],
            Panels::Whole(packed, first) => packed.panel(terms, first + column, nr),
        }
    }
}

/// The loop over blocks of rows, and over the tiles of each.
#[inline(always)]
fn rows<S: Simd, T: Stored, U: Stored, const MR: usize, const NV: usize>(
    simd: S,
    left: &Rows<'_, T>,
    terms: &Range<usize>,
    panels: &Panels<'_>,
    left_block: &mut [f32],
    sums: &mut Sums<'_, '_, T, U>,
) {
    let Blocking { mc, nr, .. } = Blocking::of(S::ISA);
    for block in (0..left.rows()).step_by(mc) {
        let own = block..left.rows().min(block + mc);
        pack::left(simd, left, own.clone(), terms.clone(), MR, left_block);
        for column in (0..sums.width).step_by(nr) {
            let right = panels.at(terms, column, nr);
            let tiles = left_block.chunks_exact(MR * terms.len());
            for (row, left) in own.clone().step_by(MR).zip(tiles) {
                let tile = tile::<S, MR, NV>(simd, left, right);
                let rows = MR.min(own.end - row);
                sums.add::<S, MR, NV>(simd, &tile, row, rows, column);
            }
        }
    }
}

impl<T: Stored, U: Stored> Sums<'_, '_, T, U> {
    /// Adds a tile whose first element belongs to `row` and to `column` of the block; only
    /// `rows` rows of it and the columns left in the block exist.
    #[inline(always)]
    fn add<S: Simd, const MR: usize, const NV: usize>(
        &mut self,
        simd: S,
        tile: &Tile<S, MR, NV>,
        row: usize,
        rows: usize,
        column: usize,
    ) {
        let columns = (NV * S::LANES).min(self.width - column);
        // Where something is done to the sums, it is done to the whole tile outside this loop.
        let ends = self.is_last && !self.epilogue.is_none();
        let mut ended = [0.0_f32; MOST_SUMS];
        // Both loops have constant bounds: an index known only at run time would force the
        // tile out of its registers.
        for i in 0..MR {
            if i >= rows {
                break;
            }
            let output = &mut self.output.row_mut(row + i)[self.column + column..][..columns];
            let partial = if self.partial.is_empty() {
                None
            } else {
                Some(&mut self.partial[(row + i) * self.width + column..][..columns])
            };
            let ended = ends.then(|| &mut ended[i * NV * S::LANES..][..columns]);
            let line =
                Line { output, partial, ended, is_first: self.is_first, is_last: self.is_last };
            line.add::<S, NV>(simd, &tile[i]);
        }
        let mut i = 0;
        while ends && i < rows {
            let output = &mut self.output.row_mut(row + i)[self.column + column..][..columns];
            let sums = &ended[i * NV * S::LANES..][..columns];
            let from = self.first_column + self.column + column;
            self.epilogue.store(simd, sums, from, output);
            i += 1;
        }
    }
}

/// Sums of the largest register tile.
const MOST_SUMS: usize = 14 * 32;

/// One row of a tile in memory.
struct Line<'a, U> {
    output: &'a mut [U],
    partial: Option<&'a mut [f32]>,
    /// Where sums go on their way out.
    ended: Option<&'a mut [f32]>,
    is_first: bool,
    is_last: bool,
}

impl<U: Stored> Line<'_, U> {
    #[inline(always)]
    fn add<S: Simd, const NV: usize>(mut self, simd: S, sums: &[S::F; NV]) {
        let length = self.output.len();
        for v in 0..NV {
            let lane = v * S::LANES;
            if lane >= length {
                break;
            }
            let range = lane..length.min(lane + S::LANES);
            let mut sum = sums[v];
            if !self.is_first {
                let before = match &self.partial {
                    Some(partial) => load(simd, &partial[range.clone()]),
                    None => load(simd, &self.output[range.clone()]),
                };
                sum = simd.add(before, sum);
            }
            match (&mut self.ended, &mut self.partial) {
                (Some(ended), _) => store(simd, sum, &mut ended[range]),
                (None, Some(partial)) if !self.is_last => store(simd, sum, &mut partial[range]),
                _ => store(simd, sum, &mut self.output[range]),
            }
        }
    }
}

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
