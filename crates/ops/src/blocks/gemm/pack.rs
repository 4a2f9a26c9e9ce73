//! Packing: operands of any stored type and stride become dense f32 panels, edges padded by zeros.
//!
//! A left panel holds `mr` rows, term by term: element `p * mr + i`. A right panel holds `nr`
//! columns, term by term: element `p * nr + j`. Rows and columns past the operand's edge are zeros,
//! so the micro-kernel never asks where the edge is; terms are never padded, so that no zero
//! meets a NaN or an infinity of the other operand inside the result.

use super::Blocking;
use crate::blocks::stored::Stored;
use proofmark_simd::{Body, Simd};
use proofmark_tensor::{Rows, RowsMut};
use proofmark_terms::DType;
use std::ops::Range;

/// Rows that are read side by side.
const STREAMS: usize = 8;

/// A right operand packed whole: for each block of `kc` terms, its panels from left to right.
#[derive(Clone, Copy, Debug)]
pub struct PackedRight<'a> {
    /// The panels, [`Blocking::packed_right`] floats.
    pub data: &'a [f32],
    /// Columns of the operand.
    pub n: usize,
}

impl PackedRight<'_> {
    /// The panel of `nr` columns from column `column` on, over the block of terms `terms`.
    #[inline(always)]
    pub(super) fn panel(&self, terms: &Range<usize>, column: usize, nr: usize) -> &[f32] {
        let width = self.n.next_multiple_of(nr);
        &self.data[terms.start * width + column * terms.len()..][..terms.len() * nr]
    }
}

/// Packs a whole right operand, for many products: see [`PackedRight`].
#[derive(Debug)]
pub struct PackRight<'a, T> {
    /// The operand: `k × n`, or `n × k` if it is transposed.
    pub rows: Rows<'a, T>,
    /// Rows are columns of the product.
    pub transposed: bool,
    /// Where to, [`Blocking::packed_right`] floats.
    pub to: &'a mut [f32],
}

impl<T: Stored> Body for PackRight<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Blocking { nr, kc, .. } = Blocking::of(S::ISA);
        let (k, n) = logical(&self.rows, self.transposed);
        let width = n.next_multiple_of(nr);
        for start in (0..k).step_by(kc) {
            let terms = start..k.min(start + kc);
            let block = &mut self.to[start * width..][..terms.len() * width];
            let mut panels = RowsMut::from_slice(block, width / nr, terms.len() * nr);
            right(simd, &self.rows, self.transposed, terms, 0..n, nr, &mut panels);
        }
    }
}

/// Terms and columns of a right operand.
#[inline(always)]
pub(super) fn logical<T>(rows: &Rows<'_, T>, transposed: bool) -> (usize, usize) {
    if transposed { (rows.cols(), rows.rows()) } else { (rows.rows(), rows.cols()) }
}

/// Packs some terms of some rows of the left operand into panels of `mr` rows.
#[inline(always)]
pub(super) fn left<S: Simd, T: Stored>(
    simd: S,
    from: &Rows<'_, T>,
    rows: Range<usize>,
    terms: Range<usize>,
    mr: usize,
    to: &mut [f32],
) {
    let mut start = rows.start;
    while start < rows.end {
        let panel = &mut to[(start - rows.start) * terms.len()..];
        spread(simd, from, start..rows.end.min(start + mr), &terms, mr, panel);
        start += mr;
    }
}

/// Packs some terms of some columns of the right operand into panels of `nr` columns, which are
/// whole vectors; each row of `to` is a panel.
#[inline(always)]
pub(super) fn right<S: Simd, T: Stored>(
    simd: S,
    from: &Rows<'_, T>,
    transposed: bool,
    terms: Range<usize>,
    columns: Range<usize>,
    nr: usize,
    to: &mut RowsMut<'_, f32>,
) {
    if transposed {
        let mut start = columns.start;
        while start < columns.end {
            let own = start..columns.end.min(start + nr);
            let panel = to.row_mut((start - columns.start) / nr);
            spread(simd, from, own, &terms, nr, panel);
            start += nr;
        }
        return;
    }
    // Packs a few rows at a time across all panels. The rows are read as streams, and each panel is
    // written in runs of more than a few cache lines, because lines of different panels map to the
    // same L1 sets.
    let mut term = terms.start;
    while term < terms.end {
        let few = term..terms.end.min(term + STREAMS);
        let mut start = columns.start;
        while start < columns.end {
            let own = start..columns.end.min(start + nr);
            let panel = to.row_mut((start - columns.start) / nr);
            let target = &mut panel[(term - terms.start) * nr..][..few.len() * nr];
            copy(simd, from, &few, own, nr, target);
            start += nr;
        }
        term = few.end;
    }
}

/// Writes each row of `from` down one column of the panel that `to` begins with; missing rows
/// become zeros. May also write into what follows the panel, which must be packed later.
#[inline(always)]
fn spread<S: Simd, T: Stored>(
    simd: S,
    from: &Rows<'_, T>,
    rows: Range<usize>,
    terms: &Range<usize>,
    width: usize,
    to: &mut [f32],
) {
    let mut term = 0;
    // Squares are transposed in registers. A panel may be narrower than a square, which then reads
    // rows of the next panel and writes over the next terms, so both must be there.
    let squares = width.div_ceil(S::LANES);
    let is_square = S::LANES > 1
        && rows.len() == width
        && rows.start + squares * S::LANES <= from.rows()
        && (squares == 1 || width.is_multiple_of(S::LANES));
    if is_square {
        let mut square = [0.0_f32; 256];
        assert!(S::LANES * S::LANES <= square.len(), "a square of {} lanes", S::LANES);
        while term + S::LANES <= terms.len()
            && (term + S::LANES - 1) * width + squares * S::LANES <= to.len()
        {
            let column = terms.start + term;
            for part in 0..squares {
                let first = rows.start + part * S::LANES;
                let target = to[term * width + part * S::LANES..].as_mut_ptr();
                if let Some(source) = as_f32(from, first, column) {
                    // SAFETY: rows `first..first + LANES` exist and have `LANES` terms from
                    // `column` on; the target is that of the square below.
                    unsafe { simd.transpose_ptr(source, from.row_stride(), target, width) };
                    continue;
                }
                for lane in 0..S::LANES {
                    let row = &from.row(first + lane)[column..][..S::LANES];
                    simd.store(T::load(simd, row), &mut square[lane * S::LANES..]);
                }
                // SAFETY: the source is a whole square; the last row of the target ends at
                // `(term + LANES - 1) * width + squares * LANES` at most, which `to` holds.
                unsafe { simd.transpose_ptr(square.as_ptr(), S::LANES, target, width) };
            }
            term += S::LANES;
        }
    }
    edge(from, rows, terms.start + term..terms.end, width, &mut to[term * width..]);
}

/// The address of an element, if elements are f32 and need not be widened.
#[inline(always)]
fn as_f32<T: Stored>(from: &Rows<'_, T>, row: usize, column: usize) -> Option<*const f32> {
    let is_f32 = T::DTYPE == DType::F32;
    is_f32.then(|| from.row(row)[column..].as_ptr().cast())
}

/// What [`spread`] leaves over, element by element.
///
/// It has no vectors and stays a separate function, because the compiler leaves iterators as calls
/// within a kernel's one large function.
#[inline(never)]
fn edge<T: Stored>(
    from: &Rows<'_, T>,
    rows: Range<usize>,
    terms: Range<usize>,
    width: usize,
    to: &mut [f32],
) {
    /// Terms at a time, so that what is written stays in L1 until it is whole: a cache line of
    /// f32 in each row.
    const TERMS: usize = 16;
    let panel = &mut to[..terms.len() * width];
    for (start, part) in terms.clone().step_by(TERMS).zip(panel.chunks_mut(TERMS * width)) {
        for (lane, row) in rows.clone().enumerate() {
            let row = &from.row(row)[start..terms.end.min(start + TERMS)];
            for (target, value) in part.chunks_exact_mut(width).zip(row) {
                target[lane] = value.widen();
            }
        }
    }
    if rows.len() < width {
        for target in panel.chunks_exact_mut(width) {
            target[rows.len()..].fill(0.0);
        }
    }
}

/// Writes the wanted columns of each row of `from` beside each other; missing columns become zeros.
#[inline(always)]
fn copy<S: Simd, T: Stored>(
    simd: S,
    from: &Rows<'_, T>,
    terms: &Range<usize>,
    columns: Range<usize>,
    width: usize,
    panel: &mut [f32],
) {
    // Plain counters: see `edge` for iterators in a kernel.
    let mut term = 0;
    while term < terms.len() {
        let source = &from.row(terms.start + term)[columns.clone()];
        let target = &mut panel[term * width..][..width];
        let mut lane = 0;
        while lane < width {
            let rest = &source[lane.min(source.len())..];
            let value = if rest.len() >= S::LANES {
                T::load(simd, rest)
            } else {
                T::load_partial(simd, rest, 0.0)
            };
            simd.store(value, &mut target[lane..]);
            lane += S::LANES;
        }
        term += 1;
    }
}
