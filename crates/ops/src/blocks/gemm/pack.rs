//! Packing: operands of any stored type and stride become dense f32 panels, edges padded by zeros.
//!
//! A left panel holds `mr` rows, term by term: element `p * mr + i`. A right panel holds `nr`
//! columns, term by term: element `p * nr + j`. Rows and columns past the operand's edge are zeros,
//! so the micro-kernel never asks where the edge is; terms are never padded, so that no zero
//! meets a NaN or an infinity of the other operand inside the result.

use super::Blocking;
use crate::blocks::stored::Stored;
use proofmark_simd::{Body, Simd};
use proofmark_tensor::Rows;
use std::ops::Range;

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
            right(simd, &self.rows, self.transposed, terms, 0..n, block);
        }
    }
}

/// Terms and columns of a right operand.
#[inline(always)]
pub(super) fn logical<T>(rows: &Rows<'_, T>, transposed: bool) -> (usize, usize) {
    if transposed { (rows.cols(), rows.rows()) } else { (rows.rows(), rows.cols()) }
}

/// Packs some terms of some rows of the left operand into panels of `mr` rows.
pub(super) fn left<T: Stored>(
    from: &Rows<'_, T>,
    rows: Range<usize>,
    terms: Range<usize>,
    mr: usize,
    to: &mut [f32],
) {
    let panels = to.chunks_exact_mut(mr * terms.len());
    for (start, panel) in rows.clone().step_by(mr).zip(panels) {
        spread(from, start..rows.end.min(start + mr), &terms, mr, panel);
    }
}

/// Packs some terms of some columns of the right operand into panels of `nr` columns.
#[inline(always)]
pub(super) fn right<S: Simd, T: Stored>(
    simd: S,
    from: &Rows<'_, T>,
    transposed: bool,
    terms: Range<usize>,
    columns: Range<usize>,
    to: &mut [f32],
) {
    let nr = Blocking::of(S::ISA).nr;
    let panels = to.chunks_exact_mut(nr * terms.len());
    for (start, panel) in columns.clone().step_by(nr).zip(panels) {
        let own = start..columns.end.min(start + nr);
        if transposed {
            spread(from, own, &terms, nr, panel);
        } else {
            copy(simd, from, &terms, own, nr, panel);
        }
    }
}

/// Writes each row of `from` down one column of a panel; missing rows become zeros.
///
/// A few terms of all rows at a time: what is written then stays in L1 until it is whole. It has
/// no vectors and stays a function of its own, because within a kernel's one large function the
/// compiler leaves the iterators as calls.
#[inline(never)]
fn spread<T: Stored>(
    from: &Rows<'_, T>,
    rows: Range<usize>,
    terms: &Range<usize>,
    width: usize,
    panel: &mut [f32],
) {
    /// Terms at a time: a cache line of f32 in each row.
    const TERMS: usize = 16;
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
    // Plain counters: see `spread` for iterators in a kernel.
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
