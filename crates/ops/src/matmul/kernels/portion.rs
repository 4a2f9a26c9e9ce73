//! What all kernels but `scalar` share: operands, the split among threads, scratch memory.

use super::super::definition::{ACTIVATION, Shape, bias_of};
use crate::blocks::gemm::Epilogue;
use crate::blocks::math::Activation;
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Rows, RowsMut, split};
use std::ops::Range;

/// Calls `$function::<T, U>` with the types of the inputs and of the output of `$case`.
macro_rules! typed_pair {
    ($case:expr, $function:ident($($argument:expr),*)) => {{
        use proofmark_terms::DType;
        use proofmark_tensor::{bf16, f16};
        match ($case.dtype, $crate::matmul::definition::output_dtype($case)) {
            (DType::Bf16, DType::Bf16) => $function::<bf16, bf16>($($argument),*),
            (DType::Bf16, _) => $function::<bf16, f32>($($argument),*),
            (DType::F16, DType::F16) => $function::<f16, f16>($($argument),*),
            (DType::F16, _) => $function::<f16, f32>($($argument),*),
            _ => $function::<f32, f32>($($argument),*),
        }
    }};
}
pub(super) use typed_pair;

/// The part of the batches, rows and columns that falls to one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) batches: Range<usize>,
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
}

impl Part {
    /// Splits batches where they come out even; else every product into a grid. Each thread
    /// packs its own rows and columns, so the grid is the one with the least of both. `tile` is
    /// the rows and columns that are not split.
    pub(super) fn of(shape: Shape, tile: (usize, usize), threads: usize, index: usize) -> Part {
        let Shape { batches, m, n, .. } = shape;
        let whole = Part { batches: 0..batches, rows: 0..m, columns: 0..n };
        if batches.is_multiple_of(threads) || batches >= 4 * threads {
            return Part { batches: split(batches, threads, index, 1), ..whole };
        }
        let side = |down: usize| {
            let across = threads / down;
            // What the largest part computes counts first: tiles may not come out even.
            let rows = m.div_ceil(tile.0).div_ceil(down);
            let columns = n.div_ceil(tile.1).div_ceil(across);
            (rows * columns, rows * tile.0 + columns * tile.1)
        };
        let divisors = (1..=threads).filter(|&down| threads.is_multiple_of(down));
        let down = divisors.min_by_key(|&down| side(down)).unwrap_or(1);
        let across = threads / down;
        Part {
            rows: split(m, down, index / across, tile.0),
            columns: split(n, across, index % across, tile.1),
            ..whole
        }
    }
}

/// What one thread computes of one product.
pub(super) struct Portion<'a, T, U> {
    /// The wanted rows of the left operand.
    pub(super) left: Rows<'a, T>,
    /// The right operand as it is stored, with all its columns.
    pub(super) right: Rows<'a, T>,
    /// The first of the wanted columns.
    pub(super) first_column: usize,
    /// The wanted part of the result.
    pub(super) output: RowsMut<'a, U>,
    /// What is done to the sums.
    pub(super) epilogue: Epilogue<'a, T>,
    /// The thread's scratch memory, aligned to a cache line.
    pub(super) scratch: &'a mut [u8],
}

/// Bytes of a cache line, so that no line belongs to two threads.
const LINE: usize = 64;

/// Bytes of scratch memory for all threads, if each needs `each`.
pub(super) fn workspace_bytes(threads: usize, each: usize) -> usize {
    threads * each.next_multiple_of(LINE)
}

/// Checks the operands and has every thread compute its portions, each with `each` bytes.
pub(super) fn run<T: Stored, U: Stored>(
    call: &mut Call<'_>,
    threads: usize,
    tile: (usize, usize),
    each: usize,
    compute: &(dyn Fn(Portion<'_, T, U>) + Sync),
) -> Result<(), KernelError> {
    let shape = Shape::of(call.case);
    let Shape { batches, m, n, k, .. } = shape;
    let left = call.inputs[0].rows::<T>()?;
    let right = call.inputs[1].rows::<T>()?;
    let epilogue = epilogue::<T>(call)?;
    let output = call.outputs[0].rows_mut::<U>()?;
    check("a", left.rows(), left.cols(), batches * m, k)?;
    let right_rows = shape.right_batches() * shape.right_rows();
    check("b", right.rows(), right.cols(), right_rows, shape.right_cols())?;
    check("c", output.rows(), output.cols(), batches * m, n)?;
    if batches * m * n == 0 {
        return Ok(());
    }
    let each = each.next_multiple_of(LINE);
    let (got, need) = (call.workspace.len(), threads * each);
    let Some(workspace) = call.workspace.get_mut(..need) else {
        return Err(KernelError::TooSmall { what: "workspace", got, need });
    };
    let workspace = RowsMut::from_slice(workspace, threads, each);
    // SAFETY: the view is not used again; it lives until the pool's region has ended.
    let output = unsafe { output.share() };
    call.pool.with_rows(workspace, |index, scratch| {
        let Part { batches, rows, columns } = Part::of(shape, tile, threads, index);
        if rows.is_empty() || columns.is_empty() {
            return;
        }
        for batch in batches {
            let first = batch * m + rows.start;
            let own_rows = first..first + rows.len();
            // SAFETY: parts of different threads differ in batches, rows or columns.
            let block = unsafe { output.block_mut(own_rows.clone(), columns.clone()) };
            compute(Portion {
                left: left.range(own_rows),
                right: right_of(shape, right, batch),
                first_column: columns.start,
                output: block,
                epilogue,
                scratch: &mut *scratch,
            });
        }
    });
    Ok(())
}

/// The right operand of one batch.
fn right_of<T>(shape: Shape, rows: Rows<'_, T>, batch: usize) -> Rows<'_, T> {
    let first = if shape.is_shared { 0 } else { batch * shape.right_rows() };
    rows.range(first..first + shape.right_rows())
}

/// What the case does to its sums.
pub(super) fn epilogue<'a, T: Stored>(call: &Call<'a>) -> Result<Epilogue<'a, T>, KernelError> {
    let activation = Activation::of(ACTIVATION.word(call.case));
    let n = Shape::of(call.case).n;
    let bias = match bias_of(call.case) {
        None => None,
        Some(operand) => {
            let rows = call.inputs[operand].rows::<T>()?;
            check("bias", rows.rows(), rows.cols(), 1, n)?;
            Some(rows.row(0))
        }
    };
    Ok(Epilogue { bias, activation })
}

/// The right operand that every batch shares, for packing it once.
pub(super) fn weight<'a, T: Stored>(call: &Call<'a>) -> Result<Rows<'a, T>, KernelError> {
    let shape = Shape::of(call.case);
    let rows = call.inputs[1].rows::<T>()?;
    check("b", rows.rows(), rows.cols(), shape.right_rows(), shape.right_cols())?;
    Ok(rows)
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
