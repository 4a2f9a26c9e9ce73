//! Products whose right operand is stored as codes with scales: a weight is decoded once, however
//! many rows there are.
//!
//! For many rows a few panels of weights are decoded, scaled and packed as f32, and then multiplied
//! as in [`Gemm`]. For fewer rows packing takes too large a part of the time: a panel is decoded
//! row by row, and multiplied row against row (see [`ScaledProducts`]). The sum of an element
//! depends on `k`, the blocking and `is_packed` only.

use super::pack;
use super::{Blocking, Epilogue, Gemm, Keeps, PackedRight, Right};
use crate::blocks::math::Activation;
use crate::blocks::scaled::{ScaledProducts, Scales};
use crate::blocks::stored::Stored;
use proofmark_simd::{Body, Simd};
use proofmark_tensor::{Rows, RowsMut};
use proofmark_terms::{DType, Isa};
use std::ops::Range;

/// Columns that are multiplied at a time; the left operand is packed anew for each so many.
const GROUP: usize = 256;
/// Columns that are decoded at a time where nothing is packed.
const PANEL: usize = 32;
/// Terms of a packed panel that are decoded at a time, so that they stay in L1 until they are
/// packed.
const TERMS: usize = 128;
/// Elements from one decoded row to the next: an odd number of cache lines, so that rows lie in
/// different sets.
const PITCH: usize = TERMS + 16;

/// Whether packing pays for a product of `m` rows and `k` terms. Raced on one thread with 4 to 256
/// rows: of 1,024 terms and more from 32 rows on, of 256 and fewer from 12 on.
pub(crate) const fn packs(m: usize, k: usize) -> bool {
    m >= 32 || (m >= 12 && k <= 512)
}

/// One product on one thread, or the part of one that falls to it.
pub(crate) struct Dequantised<'a, B, C> {
    /// The left operand, a row of terms for each row of the output.
    pub(crate) left: Rows<'a, f32>,
    /// The right operand, a row of terms for each column of the output.
    pub(crate) right: Rows<'a, B>,
    /// Scales of the right operand.
    pub(crate) scales: Scales<'a>,
    /// Terms that share a scale.
    pub(crate) block: usize,
    /// Whether panels are packed: what [`packs`] says of the whole case, so that every number of
    /// threads gives the same bits.
    pub(crate) is_packed: bool,
    /// The output.
    pub(crate) output: RowsMut<'a, C>,
    /// [`dequantised_scratch`] floats of rubbish.
    pub(crate) scratch: &'a mut [f32],
}

/// Floats of each part of a thread's scratch memory.
struct Parts {
    /// Some terms of a panel as they are decoded, a row for each column.
    rows: usize,
    /// A group of packed panels.
    packed: usize,
    /// What the product itself needs.
    product: usize,
}

impl Parts {
    fn of(isa: Isa, [m, n, k]: [usize; 3], output: DType) -> Parts {
        let blocking = Blocking::of(isa);
        let columns = n.min(GROUP);
        let keeps = Keeps { packed_right: true, f32_output: output == DType::F32 };
        Parts {
            rows: blocking.nr * PITCH,
            packed: blocking.packed_right(k, columns),
            product: blocking.scratch(m, columns, k, keeps),
        }
    }
}

/// Floats of scratch memory that one thread needs for a product of these `[m, n, k]`.
pub(crate) fn dequantised_scratch(isa: Isa, sizes: [usize; 3], output: DType) -> usize {
    let [m, _, k] = sizes;
    if !packs(m, k) {
        return PANEL * odd_lines(k);
    }
    let Parts { rows, packed, product } = Parts::of(isa, sizes, output);
    rows + packed + product
}

/// Floats of so many in whole cache lines, an odd number of them, so that rows lie in different
/// sets.
fn odd_lines(floats: usize) -> usize {
    (floats.div_ceil(16) | 1) * 16
}

impl<B: Stored, C: Stored> Body for Dequantised<'_, B, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        if self.is_packed { self.packed(simd) } else { self.unpacked(simd) }
    }
}

impl<B: Stored, C: Stored> Dequantised<'_, B, C> {
    #[inline(always)]
    fn unpacked<S: Simd>(self, simd: S) {
        let Dequantised { left, right, scales, block, mut output, scratch, .. } = self;
        let (n, k) = (right.rows(), left.cols());
        assert!(right.cols() == k && output.cols() == n, "operands of another product");
        let pitch = odd_lines(k);
        let mut first = 0;
        while first < n {
            let own = first..n.min(first + PANEL);
            let decoded = &mut scratch[..PANEL * pitch];
            let (rows, terms) = (own.clone(), 0..k);
            simd.apart(Decode { from: right, scales, block, rows, terms, pitch, to: decoded });
            let one = Scales { data: &[1.0], across: 1, height: PANEL, first: 0 };
            let product = ScaledProducts::<f32, f32, C, true> {
                left,
                left_scales: None,
                // SAFETY: `decoded` holds the rows of a panel, `pitch` apart.
                right: unsafe { Rows::from_raw(decoded.as_ptr(), own.len(), k, pitch) },
                right_scales: one,
                block: k.max(1),
                output: output.columns(own.clone()),
            };
            product.run(simd);
            first = own.end;
        }
    }

    #[inline(always)]
    fn packed<S: Simd>(self, simd: S) {
        let Dequantised { left, right, scales, block, mut output, scratch, .. } = self;
        let Blocking { nr, kc, .. } = Blocking::of(S::ISA);
        let [m, n, k] = [left.rows(), right.rows(), left.cols()];
        assert!(right.cols() == k && output.cols() == n, "operands of another product");
        let parts = Parts::of(S::ISA, [m, n, k], C::DTYPE);
        let (decoded, rest) = scratch.split_at_mut(parts.rows);
        let (packed, scratch) = rest.split_at_mut(parts.packed);
        let mut first = 0;
        while first < n {
            let columns = first..n.min(first + GROUP);
            let width = columns.len().next_multiple_of(nr);
            let mut start = 0;
            while start < k {
                let terms = start..k.min(start + kc);
                let depth = terms.len();
                let panels = &mut packed[start * width..][..depth * width];
                let mut column = columns.start;
                while column < columns.end {
                    let own = column..columns.end.min(column + nr);
                    let panel = &mut panels[(column - columns.start) * depth..][..nr * depth];
                    let mut term = terms.start;
                    while term < terms.end {
                        let few = term..terms.end.min(term + TERMS);
                        let count = few.len();
                        simd.apart(Decode {
                            from: right,
                            scales,
                            block,
                            rows: own.clone(),
                            terms: few,
                            pitch: PITCH,
                            to: &mut *decoded,
                        });
                        // SAFETY: `decoded` holds the rows of a panel, `PITCH` apart.
                        let rows =
                            unsafe { Rows::from_raw(decoded.as_ptr(), own.len(), count, PITCH) };
                        let to = &mut panel[(term - terms.start) * nr..][..count * nr];
                        let mut to = RowsMut::from_slice(to, 1, count * nr);
                        pack::right(simd, &rows, true, 0..count, 0..own.len(), nr, &mut to);
                        term += TERMS;
                    }
                    column += nr;
                }
                start += kc;
            }
            let data = &packed[..k * width];
            let product = Gemm {
                left,
                right: Right::<f32>::Packed(PackedRight { data, n: columns.len() }),
                first_column: 0,
                output: output.columns(columns.clone()),
                epilogue: Epilogue { bias: None, activation: Activation::None },
                scratch: &mut *scratch,
            };
            product.run(simd);
            first = columns.end;
        }
    }
}

/// Writes some terms of some rows as f32, `pitch` apart. It is a separate function, so that the
/// constants of decoding have the registers to themselves.
struct Decode<'a, B> {
    from: Rows<'a, B>,
    scales: Scales<'a>,
    /// Terms that share a scale.
    block: usize,
    rows: Range<usize>,
    terms: Range<usize>,
    pitch: usize,
    to: &'a mut [f32],
}

impl<B: Stored> Body for Decode<'_, B> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Decode { from, scales, block, rows, terms, pitch, to } = self;
        let first = terms.start / block;
        // The row's place in its block of scales is counted, because a division takes longer than a
        // vector.
        let height = scales.height;
        let (mut above, mut within) =
            ((scales.first + rows.start) / height, (scales.first + rows.start) % height);
        let mut row = rows.start;
        while row < rows.end {
            let source = from.row(row);
            let scales = &scales.data[above * scales.across..][first..scales.across];
            within += 1;
            if within == height {
                (above, within) = (above + 1, 0);
            }
            // Runs are too short for the processor to fetch ahead: the next panel comes beside
            // this.
            let next = from.as_ptr().wrapping_add((row + rows.len()) * from.row_stride());
            let to = &mut to[(row - rows.start) * pitch..][..terms.len()];
            let (mut term, mut index) = (terms.start, 0);
            while term < terms.end {
                let end = terms.end.min((first + index + 1) * block);
                let scale = simd.splat(scales[index]);
                index += 1;
                while term + S::LANES <= end {
                    let value = simd.mul(B::load(simd, &source[term..term + S::LANES]), scale);
                    simd.store(value, &mut to[term - terms.start..]);
                    simd.prefetch_l2(next.wrapping_add(term).cast());
                    term += S::LANES;
                }
                if term < end {
                    let value = simd.mul(B::load_partial(simd, &source[term..end], 0.0), scale);
                    simd.store_partial(value, &mut to[term - terms.start..end - terms.start]);
                    term = end;
                }
            }
            row += 1;
        }
    }
}
