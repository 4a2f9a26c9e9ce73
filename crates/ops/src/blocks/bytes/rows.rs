//! Rows against rows, without packing: vectors run along the terms that both operands hold densely.
//!
//! A tile of sums stays in vector registers over all terms and is added up across lanes at the
//! end. A few rows of the right operand stay in L1 while a block of the left one, at most half
//! of L2, passes them.

use super::Sums;
use crate::blocks::row::cut;
use proofmark_simd::{Body, Simd, l2_bytes};
use proofmark_tensor::Rows;
use proofmark_terms::Isa;

/// One product on one thread. With `BYTE_DOT` it uses the byte instruction, whose left factor is
/// unsigned: 128 is added to each left byte, and 128 times the sum of the right row is subtracted
/// again. `BYTE_DOT` is allowed only within [`proofmark_simd::dispatch_byte_dot`].
pub(crate) struct RowProducts<'a, const BYTE_DOT: bool> {
    /// The left operand, a row of terms for each row of the output.
    pub(crate) left: Rows<'a, i8>,
    /// The right operand, a row of terms for each column of the output.
    pub(crate) right: Rows<'a, i8>,
    /// The output.
    pub(crate) sums: Sums<'a>,
}

impl<const BYTE_DOT: bool> Body for RowProducts<'_, BYTE_DOT> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match S::ISA {
            Isa::Scalar => self.blocks::<S, 2, 2>(simd),
            // 8 sums, 4 rights and a left, each in two halves where bytes are widened.
            Isa::Avx2 => self.blocks::<S, 2, 4>(simd),
            // 16 or 24 sums, 4 rights and a left.
            Isa::Avx512 if BYTE_DOT => self.blocks::<S, 6, 4>(simd),
            Isa::Avx512 => self.blocks::<S, 4, 4>(simd),
        }
    }
}

impl<const BYTE_DOT: bool> RowProducts<'_, BYTE_DOT> {
    #[inline(always)]
    fn blocks<S: Simd, const MR: usize, const NR: usize>(mut self, simd: S) {
        let (m, n) = (self.left.rows(), self.right.rows());
        // Rows of the left operand that pass those of the right one before the right ones change.
        let height = (l2_bytes() / 2 / self.left.cols().max(1)).next_multiple_of(MR);
        let mut top = 0;
        while top < m {
            let bottom = m.min(top + height);
            let mut column = 0;
            while column < n {
                let right: [&[i8]; NR] =
                    core::array::from_fn(|j| self.right.row((column + j).min(n - 1)));
                // This does not use `map`, because its closure would be compiled without this
                // level's instructions.
                let mut offsets = [0; NR];
                for j in 0..if BYTE_DOT { NR } else { 0 } {
                    offsets[j] = 128 * sum(simd, right[j]);
                }
                let width = NR.min(n - column);
                let mut row = top;
                while row + MR <= bottom {
                    let left = core::array::from_fn(|i| self.left.row(row + i));
                    let tile = tile::<S, BYTE_DOT, MR, NR>(simd, left, right, offsets);
                    for (i, line) in tile.iter().enumerate() {
                        self.sums.put(row + i, column, &line[..width]);
                    }
                    row += MR;
                }
                while row < bottom {
                    let left = [self.left.row(row)];
                    let [line] = tile::<S, BYTE_DOT, 1, NR>(simd, left, right, offsets);
                    self.sums.put(row, column, &line[..width]);
                    row += 1;
                }
                column += NR;
            }
            top = bottom;
        }
    }
}

/// The sum of a row.
#[inline(always)]
fn sum<S: Simd>(simd: S, row: &[i8]) -> i32 {
    let ones = simd.int_splat(0x0101_0101);
    let mut total = simd.int_splat(0);
    let mut chunks = row.chunks_exact(4 * S::LANES);
    for chunk in &mut chunks {
        // SAFETY: only products by the byte instruction need this sum, so it is there.
        total = unsafe { simd.dot_u8_i8(total, ones, simd.load_bytes(chunk)) };
    }
    let tail = simd.load_bytes_partial(chunks.remainder());
    // SAFETY: as above.
    simd.int_reduce_sum(unsafe { simd.dot_u8_i8(total, ones, tail) })
}

#[inline(always)]
fn tile<S: Simd, const BYTE_DOT: bool, const MR: usize, const NR: usize>(
    simd: S,
    left: [&[i8]; MR],
    right: [&[i8]; NR],
    offsets: [i32; NR],
) -> [[i32; NR]; MR] {
    let terms = right[0].len();
    let (left, right) = (cut(left, 0..terms), cut(right, 0..terms));
    let mut sums = [[simd.int_splat(0); NR]; MR];
    let step = 4 * S::LANES;
    let mut at = 0;
    // Nothing is loaded by `map`, as above.
    let mut b = [simd.int_splat(0); NR];
    while at + step <= terms {
        for j in 0..NR {
            b[j] = simd.load_bytes(&right[j][at..at + step]);
        }
        for i in 0..MR {
            let a = simd.load_bytes(&left[i][at..at + step]);
            add_products::<S, BYTE_DOT, NR>(simd, &mut sums[i], a, b);
        }
        at += step;
    }
    if at < terms {
        for j in 0..NR {
            b[j] = simd.load_bytes_partial(&right[j][at..]);
        }
        for i in 0..MR {
            let a = simd.load_bytes_partial(&left[i][at..]);
            add_products::<S, BYTE_DOT, NR>(simd, &mut sums[i], a, b);
        }
    }
    let mut totals = [[0; NR]; MR];
    for i in 0..MR {
        for j in 0..NR {
            totals[i][j] = simd.int_reduce_sum(sums[i][j]).wrapping_sub(offsets[j]);
        }
    }
    totals
}

#[inline(always)]
fn add_products<S: Simd, const BYTE_DOT: bool, const NR: usize>(
    simd: S,
    sums: &mut [S::I; NR],
    a: S::I,
    b: [S::I; NR],
) {
    if BYTE_DOT {
        let raised = simd.int_xor(a, simd.int_splat(0x8080_8080_u32.cast_signed()));
        for j in 0..NR {
            // SAFETY: code that asks for byte products enters through `dispatch_byte_dot`.
            sums[j] = unsafe { simd.dot_u8_i8(sums[j], raised, b[j]) };
        }
    } else {
        for j in 0..NR {
            sums[j] = simd.dot_i8(sums[j], a, b[j]);
        }
    }
}
