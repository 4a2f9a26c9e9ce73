//! The kernels of cross entropy: largest, exponentials with their sum, one logarithm a row.
//!
//! Two passes over each row, the second from L2 (up to 400,000 f32); nothing is
//! stored but a number a row, in the workspace where the mean is wanted, which is then taken in
//! order in f64: no thread count changes a bit. 1 exponential and 3 flops an element; memory is
//! the limit, then the exponential. Threads share rows, so one row stays on one thread.
//!
//! Error: exponential within 2 ulp; its argument, sum, logarithm and differences rounded once.

use super::definition::Problem;
use crate::blocks::made::{Made, typed};
use crate::blocks::row::{max_and_sum, max_and_sum_scalar, sum};
use crate::blocks::scratch::elements_mut;
use crate::blocks::stored::Stored;
use crate::blocks::tuned;
use proofmark_contract::{Call, KernelError, PartUnit};
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::{Rows, RowsMut};
use proofmark_terms::Case;
use std::ops::Range;

/// Logits that keep a thread busy for about as long as the pool's hand-over takes (1.2 µs).
const GRAIN: usize = 2048;

/// Terms of the scalar kernel's shorter sums.
const RUN: usize = 64;

/// One logit at a time.
pub(super) static SCALAR: Made = Made {
    workspace: |case, _, _| workspace(case),
    ..Made::scalar("two passes over each row, one logit at a time", |call| {
        typed!(call.case.dtype, run(call, Way::Scalar))
    })
};

/// In vectors.
pub(super) static SIMD: Made = Made {
    workspace: |case, _, _| workspace(case),
    ..Made::simd("two passes over each row in vectors", |call| {
        typed!(call.case.dtype, run(call, Way::Vectors(1)))
    })
};

/// In vectors, rows on threads.
pub(super) static PARALLEL: Made = Made {
    workspace: |case, _, _| workspace(case),
    ..Made::parallel("the simd kernel on a range of rows for each thread", |call| {
        let way = Way::Vectors(call.threads);
        typed!(call.case.dtype, run(call, way))
    })
    .tuned(PartUnit::Elements)
};

#[derive(Clone, Copy)]
enum Way {
    Scalar,
    /// Runs on the given number of threads.
    Vectors(usize),
}

fn workspace(case: &Case) -> usize {
    let Problem { rows, is_mean, .. } = Problem::of(case);
    if is_mean { rows * size_of::<f32>() } else { 0 }
}

fn run<T: Stored>(call: &mut Call<'_>, way: Way) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let x = call.inputs[0].rows::<T>()?;
    let targets = call.inputs[1].slice::<i32>()?;
    let is_known = |&target: &i32| {
        i64::from(target) == problem.ignore || usize::try_from(target).is_ok_and(|t| t < x.cols())
    };
    if let Some(row) = targets.iter().position(|target| !is_known(target)) {
        let (target, below) = (targets[row], x.cols());
        let message = format!("target {target} of row {row} is neither below {below} nor ignored");
        return Err(KernelError::Refused(message));
    }
    let losses = match problem.is_mean {
        true => elements_mut::<f32>(call.workspace, problem.rows, "the workspace")?,
        false => call.outputs[0].slice_mut::<f32>()?,
    };
    let view = RowsMut::from_slice(&mut *losses, problem.rows, 1);
    let losses_of = Losses { problem, x, targets };
    match way {
        Way::Scalar => losses_of.one_by_one(view),
        Way::Vectors(threads) => {
            let grain = tuned::grain(&call.case.op, GRAIN).div_ceil(problem.length.max(1));
            let parts = threads.min(problem.rows.div_ceil(grain)).max(1);
            let isa = call.isa;
            call.pool.for_rows(parts, view, 1, |range, losses| {
                dispatch(isa, RangeOfRows { of: losses_of, range, losses });
            });
        }
    }
    if problem.is_mean {
        let counted = targets.iter().filter(|&&target| i64::from(target) != problem.ignore);
        let sum: f64 = losses.iter().map(|&loss| f64::from(loss)).sum();
        let mean = (0.0 + sum) / counted.count() as f64;
        call.outputs[0].slice_mut::<f32>()?[0] = mean as f32;
    }
    Ok(())
}

/// The operands that are read.
#[derive(Clone, Copy)]
struct Losses<'a, T> {
    problem: Problem,
    x: Rows<'a, T>,
    targets: &'a [i32],
}

impl<T: Stored> Losses<'_, T> {
    /// The target of a row that counts.
    #[inline(always)]
    fn target(&self, row: usize) -> Option<usize> {
        let target = self.targets[row];
        (i64::from(target) != self.problem.ignore).then_some(target as usize)
    }

    /// The loss of a row with this maximum, sum of exponentials, and sum of logits if it is wanted.
    #[inline(always)]
    fn loss(&self, own: f32, (max, exponentials): (f32, f32), logits: impl FnOnce() -> f32) -> f32 {
        let smoothing = self.problem.smoothing as f32;
        let logarithm = exponentials.ln();
        if smoothing == 0.0 {
            return logarithm + (max - own);
        }
        let mean = logits() / self.problem.length as f32;
        logarithm + (1.0 - smoothing) * (max - own) + smoothing * (max - mean)
    }

    fn one_by_one(&self, mut losses: RowsMut<'_, f32>) {
        for i in 0..losses.rows() {
            let x = self.x.row(i);
            losses.row_mut(i)[0] = self.target(i).map_or(0.0, |target| {
                let of_run = |x: &[T]| x.iter().map(|x| x.widen()).sum::<f32>();
                let logits = || x.chunks(RUN).map(of_run).sum();
                self.loss(x[target].widen(), max_and_sum_scalar(x), logits)
            });
        }
    }
}

/// A range of rows.
struct RangeOfRows<'a, T> {
    of: Losses<'a, T>,
    range: Range<usize>,
    losses: RowsMut<'a, f32>,
}

impl<T: Stored> Body for RangeOfRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        for (i, row) in self.range.enumerate() {
            let x = self.of.x.row(row);
            self.losses.row_mut(i)[0] = match self.of.target(row) {
                None => 0.0,
                Some(target) => {
                    let sums = max_and_sum(simd, x, &mut []);
                    let all = if self.of.problem.smoothing > 0.0 { sum(simd, x) } else { 0.0 };
                    self.of.loss(x[target].widen(), sums, || all)
                }
            };
        }
    }
}
