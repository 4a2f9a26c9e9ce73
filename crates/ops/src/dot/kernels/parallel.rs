//! Threads over rows, and over pieces of long rows.
//!
//! Idea: rows are cut into pieces of [`PIECE`] terms whatever the number of threads, each thread
//! sums a range of pieces by the simd kernel, and the pieces of a row are added in order at the
//! end: no thread count changes a bit. 4 bytes of workspace a piece.

use super::simd::of_rows;
use crate::blocks::made::{Made, typed};
use crate::blocks::scratch::elements_mut;
use crate::blocks::stored::Stored;
use crate::dot::definition::Problem;
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::RowsMut;
use proofmark_terms::Case;

/// Terms that keep a thread busy for longer than the pool's hand-over takes (1.2 µs), if they come
/// from L2 or beyond.
const PIECE: usize = 16_384;

/// The kernel.
pub(crate) static PARALLEL: Made = Made {
    workspace: |case, _, _| count(case) * size_of::<f32>(),
    ..Made::parallel("the simd kernel on rows and pieces of rows for each thread", |call| {
        typed!(call.case.dtype, run(call))
    })
};

/// Pieces of a row: one even if it is empty.
fn pieces(length: usize) -> usize {
    length.div_ceil(PIECE).max(1)
}

fn count(case: &Case) -> usize {
    let Problem { batch, sequence, length } = Problem::of(case);
    batch * sequence * pieces(length)
}

fn run<T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let (x, y) = (call.inputs[0].rows::<T>()?, call.inputs[1].rows::<T>()?);
    let (length, isa) = (Problem::of(call.case).length, call.isa);
    let (count, in_row) = (count(call.case), pieces(length));
    let sums = elements_mut::<f32>(call.workspace, count, "the workspace")?;
    let view = RowsMut::from_slice(&mut *sums, count, 1);
    let grain = PIECE.div_ceil(length.clamp(1, PIECE));
    let parts = call.threads.min(count.div_ceil(grain)).max(1);
    call.pool.for_rows(parts, view, grain, |range, mut own| {
        for (k, piece) in range.enumerate() {
            let (row, start) = (piece / in_row, piece % in_row * PIECE);
            let end = length.min(start + PIECE);
            own.row_mut(k)[0] = of_rows(isa, &x.row(row)[start..end], &y.row(row)[start..end]);
        }
    });
    for (z, pieces) in call.outputs[0].slice_mut::<f32>()?.iter_mut().zip(sums.chunks(in_row)) {
        *z = pieces[1..].iter().fold(pieces[0], |sum, piece| sum + piece);
    }
    Ok(())
}
