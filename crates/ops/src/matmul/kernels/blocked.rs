//! What the blocked kernels share: operands, the split among threads, scratch memory.

use super::super::definition::{Shape, output_dtype};
use crate::blocks::gemm::{
    Blocking, Gemm, Keeps, PackRight, PackedRight, Right, floats, floats_mut,
};
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, KernelError};
use proofmark_schema::{Case, DType, ErrorContract, Isa, Reproducibility};
use proofmark_simd::dispatch;
use proofmark_tensor::{Rows, RowsMut, bf16, split};
use std::ops::Range;

/// Where the right operand comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Packed block by block within each call.
    Operand,
    /// Packed whole by `prepare`.
    Prepared,
}

/// The sum of an element depends on `k` and the blocking only, so threads do not change it.
pub(super) fn contract() -> ErrorContract {
    ErrorContract { reproducibility: Reproducibility::ThreadInvariant, ..ErrorContract::default() }
}

/// Bytes of scratch memory for all threads.
pub(super) fn workspace_bytes(case: &Case, isa: Isa, threads: usize, source: Source) -> usize {
    let threads = threads.max(1);
    threads * scratch(case, isa, threads, source) * size_of::<f32>()
}

/// Bytes of the packed right operand.
pub(super) fn prepared_bytes(case: &Case, isa: Isa) -> usize {
    let shape = Shape::of(case);
    Blocking::of(isa).packed_right(shape.k, shape.n) * size_of::<f32>()
}

/// Packs the right operand, which every batch shares, into `prepared`.
pub(super) fn prepare(call: &Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
    match call.case.dtype {
        DType::Bf16 => pack::<bf16>(call, prepared),
        _ => pack::<f32>(call, prepared),
    }
}

fn pack<T: Stored>(call: &Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
    let shape = Shape::of(call.case);
    let rows = call.inputs[1].rows::<T>()?;
    check("b", rows.rows(), rows.cols(), shape.right_rows(), shape.right_cols())?;
    let count = Blocking::of(call.isa).packed_right(shape.k, shape.n);
    let to = floats_mut(prepared, count, "packed weights")?;
    dispatch(call.isa, PackRight { rows, transposed: shape.is_transposed, to });
    Ok(())
}

/// Computes the case on `threads` threads.
pub(super) fn run(call: &mut Call<'_>, threads: usize, source: Source) -> Result<(), KernelError> {
    match (call.case.dtype, output_dtype(call.case)) {
        (DType::Bf16, DType::Bf16) => product::<bf16, bf16>(call, threads, source),
        (DType::Bf16, _) => product::<bf16, f32>(call, threads, source),
        _ => product::<f32, f32>(call, threads, source),
    }
}

/// The part of the batches, rows and columns that falls to one thread.
struct Part {
    batches: Range<usize>,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl Part {
    /// Splits batches where there are enough. Else each thread packs one operand whole and
    /// its share of the other: the larger one is shared out.
    fn of(shape: Shape, blocking: Blocking, threads: usize, index: usize) -> Part {
        let Shape { batches, m, n, .. } = shape;
        let whole = Part { batches: 0..batches, rows: 0..m, columns: 0..n };
        if batches >= threads {
            Part { batches: split(batches, threads, index, 1), ..whole }
        } else if m >= n {
            Part { rows: split(m, threads, index, blocking.mr), ..whole }
        } else {
            Part { columns: split(n, threads, index, blocking.nr), ..whole }
        }
    }
}

/// Floats of scratch memory for each thread: those of the first part, which is the largest.
fn scratch(case: &Case, isa: Isa, threads: usize, source: Source) -> usize {
    /// A cache line of floats, so that no line belongs to two threads.
    const LINE: usize = 16;
    let (shape, blocking) = (Shape::of(case), Blocking::of(isa));
    let part = Part::of(shape, blocking, threads, 0);
    let keeps = Keeps {
        packed_right: source == Source::Prepared,
        f32_output: output_dtype(case) == DType::F32,
    };
    let floats = blocking.scratch(part.rows.len(), part.columns.len(), shape.k, keeps);
    floats.next_multiple_of(LINE)
}

fn product<T: Stored, U: Stored>(
    call: &mut Call<'_>,
    threads: usize,
    source: Source,
) -> Result<(), KernelError> {
    let (shape, blocking) = (Shape::of(call.case), Blocking::of(call.isa));
    let Shape { batches, m, n, k, is_transposed, .. } = shape;
    let left = call.inputs[0].rows::<T>()?;
    let right = call.inputs[1].rows::<T>()?;
    let output = call.outputs[0].rows_mut::<U>()?;
    check("a", left.rows(), left.cols(), batches * m, k)?;
    let right_rows = shape.right_batches() * shape.right_rows();
    check("b", right.rows(), right.cols(), right_rows, shape.right_cols())?;
    check("c", output.rows(), output.cols(), batches * m, n)?;
    if batches * m * n == 0 {
        return Ok(());
    }
    let packed = match source {
        Source::Operand => None,
        Source::Prepared => {
            let count = blocking.packed_right(k, n);
            Some(PackedRight { data: floats(call.prepared, count, "packed weights")?, n })
        }
    };
    let of_batch = |batch: usize| match packed {
        Some(packed) => Right::Packed(packed),
        None => Right::Stored { rows: right_of(shape, right, batch), transposed: is_transposed },
    };
    let each = scratch(call.case, call.isa, threads, source);
    let workspace = floats_mut(call.workspace, threads * each, "workspace")?;
    let workspace = RowsMut::from_slice(workspace, threads, each);
    // SAFETY: neither view is used again; both live until the pool's region has ended.
    let (workspace, output) = unsafe { (workspace.share(), output.share()) };
    let isa = call.isa;
    call.pool.run(threads, &|index| {
        let Part { batches, rows, columns } = Part::of(shape, blocking, threads, index);
        if rows.is_empty() || columns.is_empty() {
            return;
        }
        // SAFETY: each index takes the one row of its number.
        let mut own = unsafe { workspace.range_mut(index..index + 1) };
        for batch in batches {
            let first = batch * m + rows.start;
            let at = first * output.row_stride() + columns.start;
            // SAFETY: `output` has `batches * m` rows of `n` columns, as checked, so the block
            // lies in it; parts of different threads differ in batches, rows or columns.
            let block = unsafe {
                let corner = output.as_mut_ptr().add(at);
                RowsMut::from_raw(corner, rows.len(), columns.len(), output.row_stride())
            };
            dispatch(
                isa,
                Gemm {
                    left: left.range(first..first + rows.len()),
                    right: of_batch(batch),
                    first_column: columns.start,
                    output: block,
                    scratch: own.row_mut(0),
                },
            );
        }
    });
    Ok(())
}

/// The right operand of one batch.
fn right_of<T>(shape: Shape, rows: Rows<'_, T>, batch: usize) -> Rows<'_, T> {
    let first = if shape.is_shared { 0 } else { batch * shape.right_rows() };
    rows.range(first..first + shape.right_rows())
}

fn check(
    name: &str,
    rows: usize,
    cols: usize,
    need_rows: usize,
    need_cols: usize,
) -> Result<(), KernelError> {
    if (rows, cols) == (need_rows, need_cols) {
        return Ok(());
    }
    Err(KernelError::Refused(format!(
        "operand `{name}` is {rows}x{cols}, the case needs {need_rows}x{need_cols}"
    )))
}
