//! Transforms of single lines on one thread: two passes, or a convolution of them.

use super::along::{Fold, Products};
use super::memory::{Own, lanes};
use super::pass::{Pass, Passes, Sink, Source};
use super::plan::{Line, Plan, is_folded};
use super::registers::InRegisters;
use crate::fft::definition::{Kind, Problem};
use proofmark_simd::dispatch;
use proofmark_terms::Isa;
use std::ops::Range;

/// Which way, and the factor of results.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// With positive exponents, as the plan is.
    pub(super) is_inverse: bool,
    /// What results are multiplied by.
    pub(super) scale: f32,
}

/// Plan, tables and path of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines<'a> {
    /// The plan.
    pub(super) plan: &'a Plan,
    /// Its tables.
    pub(super) tables: &'a [f32],
    /// The path.
    pub(super) isa: Isa,
}

/// The rows of a line's matrix: where it is read, and where its result goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    /// `m` complex numbers.
    pub(super) from: *const f32,
    /// As many.
    pub(super) to: *mut f32,
}

impl Lines<'_> {
    fn lanes(&self) -> usize {
        lanes(self.isa)
    }

    /// Groups of the first and of the second pass; none of the first where there is no matrix.
    pub(super) fn groups(&self, line: &Line) -> [usize; 2] {
        let groups = |columns: usize| columns.div_ceil(self.lanes());
        if line.first.n == 1 { [0, 1] } else { [groups(line.second.n), groups(line.first.n)] }
    }

    /// Some groups of the first pass, which leaves the transposed matrix in `middle`, and some of
    /// the second.
    ///
    /// # Safety
    /// The ends and the memory belong to the line, and nothing else writes them meanwhile, except
    /// that other groups may write `middle` or other columns of the result.
    pub(super) unsafe fn passes(
        &self,
        line: &Line,
        ends: Ends,
        scale: f32,
        middle: *mut f32,
        scratch: [*mut f32; 2],
        [first, second]: [Range<usize>; 2],
    ) {
        let (lanes, tables) = (self.lanes(), self.tables);
        let (rows, cols) = (line.first.n, line.second.n);
        let group = 2 * lanes * cols.next_multiple_of(lanes);
        let pairs = |stride: usize| Source::Pairs { first: ends.from, stride };
        let passes = [
            Pass {
                column: &line.first,
                tables,
                columns: cols,
                groups: first,
                is_in_place: false,
                source: pairs(2 * cols),
                sink: Sink::Turned {
                    first: middle,
                    group,
                    between: tables[line.between..].as_ptr(),
                },
                scratch,
            },
            Pass {
                column: &line.second,
                tables,
                columns: rows,
                groups: second,
                is_in_place: false,
                source: if rows == 1 { pairs(2) } else { Source::Parts { first: middle, group } },
                sink: Sink::Pairs { first: ends.to, stride: 2 * rows, scale },
                scratch,
            },
        ];
        dispatch(self.isa, Passes(&passes));
    }

    /// Lines one behind the other, each a transform of `m` points by two passes or in registers.
    pub(super) fn direct(
        &self,
        line: &Line,
        from: &[f32],
        to: &mut [f32],
        scale: f32,
        own: &Own<'_>,
    ) {
        assert!(from.len() == to.len() && from.len().is_multiple_of(2 * line.m), "whole lines");
        let (from, to, lines) = (from.as_ptr(), to.as_mut_ptr(), from.len() / (2 * line.m));
        if line.is_in_registers(self.lanes()) {
            return match line.m {
                16 => self.in_registers::<1>(line, from, to, lines, scale),
                32 => self.in_registers::<2>(line, from, to, lines, scale),
                64 => self.in_registers::<4>(line, from, to, lines, scale),
                128 => self.in_registers::<8>(line, from, to, lines, scale),
                _ => self.in_registers::<16>(line, from, to, lines, scale),
            };
        }
        let groups = self.groups(line).map(|groups| 0..groups);
        for start in (0..lines).map(|index| 2 * line.m * index) {
            // SAFETY: the slices are whole lines, and the memory is this thread's own.
            unsafe {
                let ends = Ends { from: from.add(start), to: to.add(start) };
                self.passes(line, ends, scale, own.middle, own.buffers, groups.clone());
            }
        }
    }

    fn in_registers<const R: usize>(
        &self,
        line: &Line,
        from: *const f32,
        to: *mut f32,
        lines: usize,
        scale: f32,
    ) {
        let (factors, is_inverse) = (&self.tables[line.between..], line.second.is_inverse);
        dispatch(self.isa, InRegisters::<R> { from, to, lines, factors, is_inverse, scale });
    }

    /// A transform of complex numbers.
    pub(super) fn complex(
        &self,
        line: &Line,
        from: &[f32],
        to: &mut [f32],
        way: Way,
        own: &mut Own<'_>,
    ) {
        if !line.is_convolved() {
            let floats = 2 * line.m;
            return self.direct(line, &from[..floats], &mut to[..floats], way.scale, own);
        }
        let (n, m) = (2 * line.n, 2 * line.m);
        let (chirp, filter) = (&self.tables[line.chirp..][..n], &self.tables[line.filter..][..m]);
        let [u, v] = std::mem::take(&mut own.wide);
        let swaps = way.is_inverse;
        let multiply = |from: &[f32], by, to: &mut [f32], swaps_from, swaps_to, scale| {
            dispatch(self.isa, Products { from, by, to, swaps_from, swaps_to, scale });
        };
        multiply(&from[..n], chirp, &mut u[..n], swaps, false, 1.0);
        u[n..m].fill(0.0);
        self.direct(line, &u[..m], &mut v[..m], 1.0, own);
        // The second transform is the inverse: swapped going in here and coming out below.
        multiply(&v[..m], filter, &mut u[..m], false, true, 1.0);
        self.direct(line, &u[..m], &mut v[..m], 1.0, own);
        multiply(&v[..n], chirp, &mut to[..n], true, swaps, way.scale);
        own.wide = [u, v];
    }

    /// A line along z, of whatever kind.
    pub(super) fn any(
        &self,
        problem: &Problem,
        from: &[f32],
        to: &mut [f32],
        way: Way,
        own: &mut Own<'_>,
    ) {
        let (line, n) = (&self.plan.z, problem.z);
        let rows = std::mem::take(&mut own.rows);
        let [x, y] = rows;
        match problem.kind {
            Kind::Complex => self.complex(line, from, to, way, own),
            Kind::FromReal if is_folded(problem) => {
                self.complex(line, from, to, way, own);
                self.fold(to.as_ptr(), to.as_mut_ptr(), line.n, false);
            }
            Kind::ToReal if is_folded(problem) => {
                self.fold(from.as_ptr(), x.as_mut_ptr(), line.n, true);
                self.complex(line, x, to, way, own);
            }
            Kind::FromReal => {
                let pairs = x.chunks_exact_mut(2).zip(from);
                pairs.for_each(|(pair, &value)| (pair[0], pair[1]) = (value, 0.0));
                self.complex(line, x, y, way, own);
                to.copy_from_slice(&y[..to.len()]);
            }
            Kind::ToReal => {
                (x[0], x[1]) = (from[0], 0.0);
                for k in 1..=n / 2 {
                    let (re, im) = (from[2 * k], from[2 * k + 1]);
                    (x[2 * k], x[2 * k + 1]) = (re, im);
                    (x[2 * (n - k)], x[2 * (n - k) + 1]) = (re, -im);
                }
                self.complex(line, x, y, way, own);
                to.iter_mut().zip(y.chunks_exact(2)).for_each(|(to, pair)| *to = pair[0]);
            }
        }
        own.rows = [x, y];
    }

    fn fold(&self, from: *const f32, to: *mut f32, half: usize, is_back: bool) {
        let roots = &self.tables[self.plan.fold..];
        dispatch(self.isa, Fold { from, to, half, roots, is_back });
    }
}
