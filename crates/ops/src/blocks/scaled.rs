//! Rows against rows in f32, without packing: the right operand is decoded as it is loaded, and
//! blocks of its terms have scales.
//!
//! Vectors run along the terms, which both operands hold densely. A tile of sums stays in
//! registers over all terms and is added up across lanes at the end, so the order of summation
//! depends on the number of terms and lanes only. The rows of a tile that are more bytes stay in
//! L1 while a block of the other operand passes them.

use crate::blocks::row::cut;
use crate::blocks::stored::Stored;
use proofmark_simd::{Body, Simd, l2_bytes};
use proofmark_tensor::{Rows, RowsMut};
use proofmark_terms::Isa;
use std::ops::Range;

/// Scales of blocks of `height` rows by some terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scales<'a> {
    /// One for each block, row by row of blocks.
    pub(crate) data: &'a [f32],
    /// Blocks beside each other.
    pub(crate) across: usize,
    /// Rows of a block.
    pub(crate) height: usize,
    /// The row that row 0 of the operand is.
    pub(crate) first: usize,
}

impl<'a> Scales<'a> {
    /// The scale of a row's block.
    #[inline(always)]
    pub(crate) fn of(&self, row: usize, block: usize) -> f32 {
        self.row(row)[block]
    }

    /// The scales of a row's blocks: a division less for each.
    #[inline(always)]
    fn row(&self, row: usize) -> &'a [f32] {
        &self.data[(self.first + row) / self.height * self.across..][..self.across]
    }
}

/// One product on one thread. `FOLDED`: right elements are scaled as they are decoded; else the
/// partial sums of a block are scaled, and left operands may have scales too.
pub(crate) struct ScaledProducts<'a, A, B, C, const FOLDED: bool> {
    /// The left operand, a row of terms for each row of the output.
    pub(crate) left: Rows<'a, A>,
    /// Scales of the left operand; only where scales are not folded.
    pub(crate) left_scales: Option<Scales<'a>>,
    /// The right operand, a row of terms for each column of the output.
    pub(crate) right: Rows<'a, B>,
    /// Scales of the right operand.
    pub(crate) right_scales: Scales<'a>,
    /// Terms of a block.
    pub(crate) block: usize,
    /// The output.
    pub(crate) output: RowsMut<'a, C>,
}

impl<A: Stored, B: Stored, C: Stored, const FOLDED: bool> Body
    for ScaledProducts<'_, A, B, C, FOLDED>
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match (S::ISA, FOLDED) {
            (Isa::Scalar, _) => self.blocks::<S, 2, 2>(simd),
            // 8 sums, 4 rights and a left; or 4 and 4 sums.
            (Isa::Avx2, true) => self.blocks::<S, 2, 4>(simd),
            (Isa::Avx2, false) => self.blocks::<S, 2, 2>(simd),
            // 24 sums, 4 rights and a left; or 12 and 12 sums.
            (Isa::Avx512, true) => self.blocks::<S, 6, 4>(simd),
            (Isa::Avx512, false) => self.blocks::<S, 3, 4>(simd),
        }
    }
}

impl<A: Stored, B: Stored, C: Stored, const FOLDED: bool> ScaledProducts<'_, A, B, C, FOLDED> {
    #[inline(always)]
    fn blocks<S: Simd, const MR: usize, const NR: usize>(mut self, simd: S) {
        let (m, n) = (self.left.rows(), self.right.rows());
        let terms = self.left.cols();
        if MR * size_of::<A>() > NR * size_of::<B>() {
            let width = block::<B>(terms, NR);
            let mut first = 0;
            while first < n {
                let end = n.min(first + width);
                let mut row = 0;
                while row < m {
                    let mut column = first;
                    while column < end {
                        self.tiles::<S, MR, NR>(simd, row..m.min(row + MR), column);
                        column += NR;
                    }
                    row += MR;
                }
                first = end;
            }
            return;
        }
        let height = block::<A>(terms, MR);
        let mut top = 0;
        while top < m {
            let bottom = m.min(top + height);
            let mut column = 0;
            while column < n {
                self.tiles::<S, MR, NR>(simd, top..bottom, column);
                column += NR;
            }
            top = bottom;
        }
    }

    /// The sums of some rows by at most `NR` columns.
    #[inline(always)]
    fn tiles<S: Simd, const MR: usize, const NR: usize>(
        &mut self,
        simd: S,
        rows: Range<usize>,
        column: usize,
    ) {
        let mut row = rows.start;
        while row + MR <= rows.end {
            simd.apart(Tile::<'_, '_, A, B, C, FOLDED, MR, NR> {
                product: &mut *self,
                row,
                column,
            });
            row += MR;
        }
        // Right elements are decoded for each tile, so that the rest has as few as there is code
        // for.
        if MR > 4 && row + 4 <= rows.end {
            simd.apart(Tile::<'_, '_, A, B, C, FOLDED, 4, NR> { product: &mut *self, row, column });
            row += 4;
        }
        if MR > 2 && row + 2 <= rows.end {
            simd.apart(Tile::<'_, '_, A, B, C, FOLDED, 2, NR> { product: &mut *self, row, column });
            row += 2;
        }
        while row < rows.end {
            simd.apart(Tile::<'_, '_, A, B, C, FOLDED, 1, NR> { product: &mut *self, row, column });
            row += 1;
        }
    }

    /// The sums of `MR` rows by at most `NR` columns; past the last column the last is repeated.
    #[inline(always)]
    fn tile<S: Simd, const MR: usize, const NR: usize>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
    ) {
        let last = self.right.rows() - 1;
        let left: [&[A]; MR] = core::array::from_fn(|i| self.left.row(row + i));
        let right: [&[B]; NR] = core::array::from_fn(|j| self.right.row((column + j).min(last)));
        let scales: [&[f32]; NR] =
            core::array::from_fn(|j| self.right_scales.row((column + j).min(last)));
        let terms = right[0].len();
        let mut sums = [[simd.zero(); NR]; MR];
        let (mut block, mut start) = (0, 0);
        while start < terms {
            let end = terms.min(start + self.block);
            let scale: [f32; NR] = core::array::from_fn(|j| scales[j][block]);
            let (left, right) = (cut(left, start..end), cut(right, start..end));
            if FOLDED {
                add::<S, A, B, MR, NR>(simd, &mut sums, left, right, Some(scale));
            } else {
                let mut partial = [[simd.zero(); NR]; MR];
                add::<S, A, B, MR, NR>(simd, &mut partial, left, right, None);
                for i in 0..MR {
                    let own = self.left_scales.map_or(1.0, |scales| scales.of(row + i, block));
                    for j in 0..NR {
                        sums[i][j] =
                            simd.fma(partial[i][j], simd.splat(own * scale[j]), sums[i][j]);
                    }
                }
            }
            (block, start) = (block + 1, end);
        }
        let width = NR.min(last + 1 - column);
        for i in 0..MR {
            let output = &mut self.output.row_mut(row + i)[column..column + width];
            for (output, &sum) in output.iter_mut().zip(&sums[i]) {
                *output = C::narrow(simd.reduce_sum(sum));
            }
        }
    }
}

/// A tile of a product. It is a separate function ([`Simd::apart`]), so that the sums of one height
/// have the registers to themselves.
struct Tile<'a, 'b, A, B, C, const FOLDED: bool, const MR: usize, const NR: usize> {
    product: &'a mut ScaledProducts<'b, A, B, C, FOLDED>,
    row: usize,
    column: usize,
}

impl<A: Stored, B: Stored, C: Stored, const FOLDED: bool, const MR: usize, const NR: usize> Body
    for Tile<'_, '_, A, B, C, FOLDED, MR, NR>
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.product.tile::<S, MR, NR>(simd, self.row, self.column);
    }
}

/// The number of rows, of `terms` elements each, that pass the other operand before its rows
/// change: half of L2 in whole tiles.
fn block<T>(terms: usize, tile: usize) -> usize {
    let row_bytes = if terms == 0 { 1 } else { terms * size_of::<T>() };
    let rows = (l2_bytes() / 2 / row_bytes).next_multiple_of(tile);
    if rows < tile { tile } else { rows }
}

/// Adds the products of all terms; right elements are multiplied by their row's scale, if any.
#[inline(always)]
fn add<S: Simd, A: Stored, B: Stored, const MR: usize, const NR: usize>(
    simd: S,
    sums: &mut [[S::F; NR]; MR],
    left: [&[A]; MR],
    right: [&[B]; NR],
    scale: Option<[f32; NR]>,
) {
    let terms = right[0].len();
    let mut at = 0;
    while at + S::LANES <= terms {
        let mut b = [simd.zero(); NR];
        for j in 0..NR {
            b[j] = B::load(simd, &right[j][at..at + S::LANES]);
            if let Some(scale) = scale {
                b[j] = simd.mul(b[j], simd.splat(scale[j]));
            }
        }
        for i in 0..MR {
            let a = A::load(simd, &left[i][at..at + S::LANES]);
            for j in 0..NR {
                sums[i][j] = simd.fma(a, b[j], sums[i][j]);
            }
        }
        at += S::LANES;
    }
    if at < terms {
        let mut b = [simd.zero(); NR];
        for j in 0..NR {
            b[j] = B::load_partial(simd, &right[j][at..], 0.0);
            if let Some(scale) = scale {
                // Lanes past the end stay 0 whatever the scale is.
                let scales = [scale[j]; 16];
                b[j] = simd.mul(b[j], simd.load_partial(&scales[..terms - at], 0.0));
            }
        }
        for i in 0..MR {
            let a = A::load_partial(simd, &left[i][at..], 0.0);
            for j in 0..NR {
                sums[i][j] = simd.fma(a, b[j], sums[i][j]);
            }
        }
    }
}
