//! The memory that a transform works in, cut into what each thread has for itself.

use super::plan::{Line, Plan, is_folded};
use super::registers::stays;
use crate::fft::definition::{Kind, Problem};
use proofmark_terms::Isa;

/// Longest lines that would leave vectors of 16 lanes half empty: 8 rows of 8 columns, and less.
const SHORT: usize = 100;

/// The path that is taken, given the permitted one: short lines use short vectors, except for lines
/// that stay in registers.
pub(super) fn taken(problem: &Problem, isa: Isa) -> Isa {
    let points = if is_folded(problem) { problem.z / 2 } else { problem.z };
    let is_short = problem.points() == problem.z && problem.z <= SHORT;
    if isa == Isa::Avx512 && is_short && !stays(points, lanes(isa)) { Isa::Avx2 } else { isa }
}

/// Lanes of a path's vectors.
pub(super) fn lanes(isa: Isa) -> usize {
    match isa {
        Isa::Scalar => 1,
        Isa::Avx2 => 8,
        Isa::Avx512 => 16,
    }
}

/// Floats of each part of the workspace.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Sizes {
    /// One of the two buffers of a pass.
    pub(super) buffer: usize,
    /// The transposed matrix of a line.
    pub(super) middle: usize,
    /// One of the two lines of Bluestein's convolution.
    pub(super) wide: usize,
    /// A line that is made of an input, or made into an output.
    pub(super) row: usize,
    /// The spectrum of a transform to reals along more than one axis, and one transposed matrix
    /// that all threads work on.
    pub(super) shared: usize,
}

impl Sizes {
    /// What a plan needs.
    pub(super) fn of(plan: &Plan, problem: &Problem, lanes: usize) -> Sizes {
        let lines = [plan.z, plan.across[0], plan.across[1]];
        let greatest = |of: &dyn Fn(&Line) -> usize| lines.iter().map(of).max().unwrap_or(0);
        let spectrum = match problem.kind {
            Kind::ToReal if problem.x * problem.y > 1 => 2 * problem.batch * problem.spectrum(),
            _ => 0,
        };
        let whole = |floats: usize| floats.next_multiple_of(16);
        Sizes {
            buffer: whole(2 * lanes * greatest(&|line| line.longest().next_multiple_of(lanes))),
            middle: whole(greatest(&|line| line.middle(lanes))),
            wide: whole(greatest(&|line| if line.is_convolved() { 2 * line.m } else { 0 })),
            row: whole(4 * greatest(&|line| line.n).max(problem.z)),
            shared: whole(spectrum) + whole(plan.z.middle(lanes)),
        }
    }

    /// Floats of one thread.
    pub(super) fn own(&self) -> usize {
        2 * self.buffer + self.middle + 2 * self.wide + self.row
    }

    /// Bytes for this many threads.
    pub(super) fn bytes(&self, threads: usize) -> usize {
        (self.shared + threads * self.own()) * size_of::<f32>()
    }
}

/// One thread's memory.
#[derive(Debug)]
pub(super) struct Own<'a> {
    /// The two buffers of a pass.
    pub(super) buffers: [*mut f32; 2],
    /// The transposed matrix of a line.
    pub(super) middle: *mut f32,
    /// The two lines of a convolution.
    pub(super) wide: [&'a mut [f32]; 2],
    /// Two lines as they come or go.
    pub(super) rows: [&'a mut [f32]; 2],
}

impl<'a> Own<'a> {
    /// Cuts one thread's floats.
    pub(super) fn new(floats: &'a mut [f32], sizes: &Sizes) -> Own<'a> {
        let (a, rest) = floats.split_at_mut(sizes.buffer);
        let (b, rest) = rest.split_at_mut(sizes.buffer);
        let (middle, rest) = rest.split_at_mut(sizes.middle);
        let (u, rest) = rest.split_at_mut(sizes.wide);
        let (v, rest) = rest.split_at_mut(sizes.wide);
        let (x, y) = rest.split_at_mut(sizes.row / 2);
        Own {
            buffers: [a.as_mut_ptr(), b.as_mut_ptr()],
            middle: middle.as_mut_ptr(),
            wide: [u, v],
            rows: [x, y],
        }
    }
}
