//! Where terms lie: side by side in rows, or one above the other in columns.

use super::super::definition::{Over, Problem};
use super::super::members::Member;
use crate::blocks::stored::Stored;
use proofmark_simd::Simd;
use proofmark_tensor::Rows;
use std::ops::Range;

/// Columns of a block: partial results of two numbers each stay in L1 with the rows
/// that are added to them.
pub(super) const BLOCK: usize = 512;

/// Terms of a piece of a row: 16 KiB of f32, read a second time from L1.
const PIECE: usize = 4096;

/// Rows of a piece of columns.
const TALL: usize = 512;

/// Rows that are added to partial results at once, with one load and store of these.
const GROUP: usize = 8;

/// Partial results of the outputs of a group, number by number.
pub(super) type Partial<const K: usize> = [[f32; BLOCK]; K];

/// Groups of outputs, each of which is made of the same number of pieces.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// Groups.
    pub(super) groups: usize,
    /// Pieces of a group, at least one.
    pub(super) pieces: usize,
    /// Outputs of a group, at most.
    pub(super) width: usize,
    /// Elements of x that a piece reads, about.
    pub(super) load: usize,
}

impl Cut {
    /// The cut of a case; `is_one_row` takes all of x as a single row.
    pub(super) fn of(problem: &Problem, is_one_row: bool) -> Cut {
        let [b, s, d] = problem.sizes;
        let (rows, cols) = if is_one_row { (1, b * s * d) } else { (b * s, d) };
        let in_row = cols.div_ceil(PIECE).max(1);
        match problem.over {
            Over::D => Cut { groups: rows, pieces: in_row, width: 1, load: cols.min(PIECE) },
            Over::All => {
                Cut { groups: 1, pieces: (rows * in_row).max(1), width: 1, load: cols.min(PIECE) }
            }
            Over::S | Over::B => {
                let (above, terms) = if problem.over == Over::S { (b, s) } else { (s, b) };
                let width = d.clamp(1, BLOCK);
                Cut {
                    groups: above * d.div_ceil(width),
                    pieces: terms.div_ceil(TALL).max(1),
                    width,
                    load: width * terms.min(TALL),
                }
            }
        }
    }
}

/// The terms of a case.
#[derive(Clone, Copy)]
pub(super) struct Source<'a, T> {
    problem: Problem,
    x: Rows<'a, T>,
    /// Pieces of a row.
    in_row: usize,
    /// How they are cut.
    pub(super) cut: Cut,
}

impl<'a, T: Stored> Source<'a, T> {
    /// All of an operand without gaps is one row.
    pub(super) fn of(problem: Problem, x: Rows<'a, T>) -> Source<'a, T> {
        let flat = x.as_slice().filter(|_| problem.over == Over::All);
        let cut = Cut::of(&problem, flat.is_some());
        let x = flat.map_or(x, |flat| Rows::from_slice(flat, 1, flat.len()));
        Source { problem, x, in_row: x.cols().div_ceil(PIECE).max(1), cut }
    }

    fn is_along(&self) -> bool {
        matches!(self.problem.over, Over::D | Over::All)
    }

    /// The elements of y that a group makes.
    pub(super) fn outputs(&self, group: usize) -> Range<usize> {
        if self.is_along() {
            return group..group + 1;
        }
        let (above, columns) = self.columns(group);
        let first = above * self.problem.sizes[2];
        first + columns.start..first + columns.end
    }

    /// Terms of a piece.
    pub(super) fn terms(&self, piece: usize) -> usize {
        match self.is_along() {
            true => self.within_row(piece).1.len(),
            false => TALL.min(self.problem.terms() - piece * TALL),
        }
    }

    /// The row of a piece, counted from its group's, and its elements there. Pieces of a whole
    /// operand with gaps go through its rows.
    #[inline(always)]
    fn within_row(&self, piece: usize) -> (usize, Range<usize>) {
        let (row, part) = match self.in_row {
            // For short rows a division would cost too much.
            1 => (piece, 0),
            in_row => (piece / in_row, piece % in_row),
        };
        let start = part * PIECE;
        (row, start..self.x.cols().min(start + PIECE))
    }

    fn columns(&self, group: usize) -> (usize, Range<usize>) {
        let (d, width) = (self.problem.sizes[2], self.cut.width);
        let across = d.div_ceil(width);
        let first = group % across * width;
        (group / across, first..d.min(first + width))
    }

    /// The partial results of a piece of a group.
    #[inline(always)]
    pub(super) fn reduce<S: Simd, M: Member<K>, const K: usize>(
        &self,
        simd: S,
        group: usize,
        piece: usize,
        partial: &mut Partial<K>,
    ) {
        if self.is_along() {
            let (row, range) = self.within_row(piece);
            let first = row * self.x.cols() + range.start;
            let state = M::of_row(simd, &self.x.row(group + row)[range], first);
            (0..K).for_each(|k| partial[k][0] = state[k]);
            return;
        }
        let (above, columns) = self.columns(group);
        let [_, s, _] = self.problem.sizes;
        let (first, step) = if self.problem.over == Over::S { (above * s, 1) } else { (above, s) };
        let start = piece * TALL;
        let count = self.terms(piece);
        (0..K).for_each(|k| partial[k].fill(M::START[k]));
        let row = |term: usize| &self.x.row(first + (start + term) * step)[columns.clone()];
        let mut done = 0;
        while done + GROUP <= count {
            let mut rows = [row(done); GROUP];
            for i in 1..GROUP {
                rows[i] = row(done + i);
            }
            down::<S, M, K, T, GROUP>(simd, rows, done, start + done, partial);
            done += GROUP;
        }
        for term in done..count {
            down::<S, M, K, T, 1>(simd, [row(term)], term, start + term, partial);
        }
    }
}

/// Adds `N` rows to partial results of `done` terms.
#[inline(always)]
fn down<S: Simd, M: Member<K>, const K: usize, T: Stored, const N: usize>(
    simd: S,
    rows: [&[T]; N],
    done: usize,
    first: usize,
    partial: &mut Partial<K>,
) {
    let width = rows[0].len();
    let mut at = 0;
    while at < width {
        let mut state = [simd.zero(); K];
        let mut terms = [simd.zero(); N];
        // A block is a whole number of vectors, so partial results have lanes past the last.
        // Not by closures, which would be compiled without this level's instructions.
        for k in 0..K {
            state[k] = simd.load(&partial[k][at..]);
        }
        for i in 0..N {
            terms[i] = match at + S::LANES <= width {
                true => T::load(simd, &rows[i][at..]),
                false => T::load_partial(simd, &rows[i][at..], 0.0),
            };
        }
        let state = M::take(simd, state, done, terms, first);
        for k in 0..K {
            simd.store(state[k], &mut partial[k][at..]);
        }
        at += S::LANES;
    }
}
