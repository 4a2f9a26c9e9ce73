//! The kernels of the mean squared error: sums of pieces, joined in order.
//!
//! Idea: rows (one, where nothing lies between them) are cut into pieces of [`PIECE`] elements
//! whatever the number of threads, each is summed in four chains of vectors, and the sums are
//! added in order in f64: no thread count changes a bit. Two reads and 3 flops an element, 4 bytes
//! of workspace a piece; memory is the limit. The scalar kernel adds runs of 64 terms.

use super::definition::divisor;
use crate::blocks::made::{Made, typed};
use crate::blocks::row::{Shape, squared_distance};
use crate::blocks::scratch::elements_mut;
use crate::blocks::stored::Stored;
use crate::blocks::tuned;
use proofmark_contract::{Call, KernelError, PartUnit};
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::{Rows, RowsMut};
use proofmark_terms::Case;
use std::ops::Range;

/// Elements of a piece: with one lane its chains have 512 terms, and the cost of adding the pieces'
/// sums is negligible.
const PIECE: usize = 2048;

/// Elements that keep a thread busy for about as long as the pool's hand-over takes (1.2 µs), if
/// they come from L2 or beyond.
const GRAIN: usize = 8192;

/// Terms of the scalar kernel's shorter sums.
const RUN: usize = 64;

/// One element at a time.
pub(super) static SCALAR: Made = Made::scalar("one term at a time, sums of runs of 64", |call| {
    typed!(call.case.dtype, one_by_one(call))
});

/// In vectors.
pub(super) static SIMD: Made = Made {
    workspace: |case, _, _| workspace(case),
    ..Made::simd("four chains of vectors", |call| typed!(call.case.dtype, pieces(call, 1)))
};

/// In vectors, pieces on threads.
pub(super) static PARALLEL: Made = Made {
    workspace: |case, _, _| workspace(case),
    ..Made::parallel("the simd kernel's pieces on threads", |call| {
        let threads = call.threads;
        typed!(call.case.dtype, pieces(call, threads))
    })
    .tuned(PartUnit::Elements)
};

fn one_by_one<T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let (x, target) = (call.inputs[0].rows::<T>()?, call.inputs[1].rows::<T>()?);
    let mut sum = 0.0;
    for i in 0..x.rows() {
        for (x, target) in x.row(i).chunks(RUN).zip(target.row(i).chunks(RUN)) {
            let pairs = x.iter().zip(target);
            let run: f32 = pairs.map(|(x, target)| (x.widen() - target.widen()).powi(2)).sum();
            sum += f64::from(run);
        }
    }
    call.outputs[0].slice_mut::<f32>()?[0] = (sum / divisor(call.case)) as f32;
    Ok(())
}

/// Pieces of rows, or of all elements as one row.
fn count(rows: usize, cols: usize) -> usize {
    rows * cols.div_ceil(PIECE)
}

fn workspace(case: &Case) -> usize {
    let Shape { rows, length, .. } = Shape::of(case);
    count(rows, length).max(count(1, rows * length)) * size_of::<f32>()
}

fn pieces<T: Stored>(call: &mut Call<'_>, threads: usize) -> Result<(), KernelError> {
    let (x, target) = (call.inputs[0].rows::<T>()?, call.inputs[1].rows::<T>()?);
    let [x, target] = match (x.as_slice(), target.as_slice()) {
        (Some(x), Some(target)) => [x, target].map(|flat| Rows::from_slice(flat, 1, flat.len())),
        _ => [x, target],
    };
    let count = count(x.rows(), x.cols());
    let sums = elements_mut::<f32>(call.workspace, count, "the workspace")?;
    let view = RowsMut::from_slice(&mut *sums, count, 1);
    let grain = tuned::grain(&call.case.op, GRAIN).div_ceil(x.cols().clamp(1, PIECE));
    let (isa, parts) = (call.isa, threads.min(count.div_ceil(grain)).max(1));
    call.pool.for_rows(parts, view, grain, |range, sums| {
        dispatch(isa, Sums { x, target, range, sums });
    });
    let sum: f64 = sums.iter().map(|&sum| f64::from(sum)).sum();
    // A sum starts from -0.
    call.outputs[0].slice_mut::<f32>()?[0] = ((0.0 + sum) / divisor(call.case)) as f32;
    Ok(())
}

struct Sums<'a, T> {
    x: Rows<'a, T>,
    target: Rows<'a, T>,
    range: Range<usize>,
    sums: RowsMut<'a, f32>,
}

impl<T: Stored> Body for Sums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let in_row = self.x.cols().div_ceil(PIECE);
        for (k, piece) in self.range.enumerate() {
            let (row, start) = (piece / in_row, piece % in_row * PIECE);
            let end = self.x.cols().min(start + PIECE);
            let (x, target) = (&self.x.row(row)[start..end], &self.target.row(row)[start..end]);
            self.sums.row_mut(k)[0] = squared_distance(simd, x, target);
        }
    }
}
