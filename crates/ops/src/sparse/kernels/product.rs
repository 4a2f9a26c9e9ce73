//! The kernels of products with a sparse matrix: rows shared out among threads.
//!
//! Idea: every thread sums a row in the same way, so that no thread count changes a bit. Threads
//! take rows with about the same number of entries.

use super::coo::Scattered;
use super::csr::{Csr, WithMatrix, WithVector, one_by_one};
use crate::blocks::made::Made;
use crate::sparse::definition::Problem;
use proofmark_contract::{Call, KernelError};
use proofmark_simd::dispatch;
use proofmark_tensor::{Rows, RowsMut, SharedRows, split};
use proofmark_terms::Isa;
use std::sync::Mutex;

/// The plainest kernel.
pub(crate) static SCALAR: Made =
    Made::scalar("one entry after the other", |call| run(call, Isa::Scalar, 1));

/// The kernel in vectors.
pub(crate) static SIMD: Made =
    Made::simd("rows of gathered entries, or columns of x in lanes", |call| run(call, call.isa, 1));

/// The kernel on several threads.
pub(crate) static PARALLEL: Made =
    Made::parallel("the simd kernel on rows of about as many entries for each thread", |call| {
        run(call, call.isa, call.threads)
    });

/// Products that are worth a thread.
const GRAIN: usize = 8192;

/// What a call multiplies.
struct Task<'a> {
    places: &'a [i32],
    columns: &'a [i32],
    values: &'a [f32],
    x: Rows<'a, f32>,
    y: SharedRows<'a, f32>,
    problem: Problem,
    isa: Isa,
}

fn run(call: &mut Call<'_>, isa: Isa, threads: usize) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let (places, columns) = (call.inputs[0].slice::<i32>()?, call.inputs[1].slice::<i32>()?);
    let values = call.inputs[2].slice::<f32>()?;
    let (rows, cols) = (problem.matrix.rows, problem.matrix.cols);
    let x = match problem.width {
        Some(_) => call.inputs[3].rows::<f32>()?,
        None => Rows::from_slice(call.inputs[3].slice::<f32>()?, cols, 1),
    };
    let y = match problem.width {
        Some(_) => call.outputs[0].rows_mut::<f32>()?,
        None => RowsMut::from_slice(call.outputs[0].slice_mut::<f32>()?, rows, 1),
    };
    // SAFETY: `y` is not used again but through the handle.
    let y = unsafe { y.share() };
    let task = Task { places, columns, values, x, y, problem, isa };
    let parts = threads.min(values.len() * problem.columns() / GRAIN).max(1);
    let failed = Mutex::new(None);
    call.pool.run(parts, &|index| {
        if let Err(error) = task.part(parts, index) {
            *failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
        }
    });
    let failed = failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    failed.map_or(Ok(()), Err)
}

impl Task<'_> {
    fn part(&self, parts: usize, index: usize) -> Result<(), KernelError> {
        let Task { columns, values, x, problem, isa, .. } = *self;
        if problem.is_coo {
            let all = problem.matrix.rows;
            let range = split(all, parts, index, 1);
            let first = range.start;
            // SAFETY: the ranges of different indices do not meet.
            let y = unsafe { self.y.range_mut(range) };
            let rows = self.places;
            return dispatch(isa, Scattered { rows, columns, values, x, y, first, all });
        }
        let matrix = Csr { pointers: self.places, columns, values };
        let first = matrix.cut(parts, index);
        let end = matrix.cut(parts, index + 1).max(first);
        // SAFETY: cuts ascend, so that the ranges of different indices do not meet.
        let mut y = unsafe { self.y.range_mut(first..end) };
        if problem.width.is_some() {
            return dispatch(isa, WithMatrix { matrix, x, y, first });
        }
        let (Some(x), Some(y)) = (x.as_slice(), y.as_mut_slice()) else { return Ok(()) };
        if isa != Isa::Scalar {
            return dispatch(isa, WithVector { matrix, x, y, first });
        }
        for (i, y) in y.iter_mut().enumerate() {
            let (columns, values) = matrix.row(first + i)?;
            *y = one_by_one(columns, values, x)?;
        }
        Ok(())
    }
}
