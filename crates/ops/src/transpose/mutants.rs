//! Wrong transposes that the gate must refuse: each is right but for one slip.

use super::definition::Problem;
use crate::blocks::made::typed;
use crate::blocks::stored::Stored;
use crate::flawed::{ALL, FINE, as_if_dense, flush, mutants, nan_as_zero, narrowed, steps};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_terms::DType;

/// What a slip may depend on.
#[derive(Clone, Copy)]
struct At {
    plane: usize,
    /// Row of x, column of y.
    i: usize,
    /// Column of x, row of y.
    j: usize,
    m: usize,
    n: usize,
    /// Row stride of x.
    stride: usize,
}

steps! { Steps, RIGHT;
    /// Whether the element is written.
    writes: fn(At) -> bool = |_| true,
    /// Where x is read: row of all matrices, and column.
    from: fn(At) -> (usize, usize) = own,
    /// What becomes of the element.
    value: fn(DType, f32) -> f32 = |_, x| x,
}

fn own(at: At) -> (usize, usize) {
    (at.plane * at.m + at.i, at.j)
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "copied", ALL, "elements keep their order", from: |at| flat(at, at.j * at.m + at.i);
    "mirrored", ALL, "turned by a quarter: columns are read from below",
        from: |at| own(At { i: at.m - 1 - at.i, ..at });
    "sizes_exchanged", ALL, "x is taken for an n × m matrix",
        from: |at| flat(at, at.i * at.m + at.j);
    "first_matrix_reused", ALL, "every matrix is the first", from: |at| own(At { plane: 0, ..at });
    "row_stride_ignored", ALL, "rows of x are taken to lie densely",
        from: |at| as_if_dense(at.plane * at.m + at.i, at.j, at.n, at.stride);
    "edge_columns_dropped", ALL, "columns past the last whole tile of 8 are not written",
        writes: |at| at.j < at.n - at.n % 8;
    "edge_rows_dropped", ALL, "rows past the last whole tile of 8 are not written",
        writes: |at| at.i < at.m - at.m % 8;
    "last_element_unwritten", ALL, "the loop ends one element early",
        writes: |at| (at.i + 1, at.j + 1) != (at.m, at.n);
    "halves_not_exchanged", ALL, "within a tile the halves of registers stay where they are",
        from: halves;
    "neighbours_not_interleaved", ALL, "pairs of a tile are not turned", from: pairs;
    "tile_not_turned", ALL, "tiles change places and are not turned themselves", from: whole_tiles;
    "off_by_one_row", ALL, "x comes from the row after",
        from: |at| own(At { i: (at.i + 1).min(at.m - 1), ..at });
    "rounded_to_bf16", FINE, "elements lose bits", value: |_, x| narrowed(x);
    "flushes_subnormals", ALL, "subnormal elements become zero", value: flush;
    "nan_swallowed", ALL, "NaN becomes 0", value: |_, x| nan_as_zero(x);
};

/// Element `offset` of the matrix in the order of its rows.
fn flat(at: At, offset: usize) -> (usize, usize) {
    let offset = offset % (at.m * at.n);
    (at.plane * at.m + offset / at.n, offset % at.n)
}

/// Whether the element is in a whole tile.
fn is_in_tile(at: At) -> bool {
    at.i < at.m - at.m % 8 && at.j < at.n - at.n % 8
}

fn halves(at: At) -> (usize, usize) {
    if is_in_tile(at) { own(At { i: at.i ^ 4, j: at.j ^ 4, ..at }) } else { own(at) }
}

fn pairs(at: At) -> (usize, usize) {
    if is_in_tile(at) { own(At { i: at.i ^ 1, j: at.j ^ 1, ..at }) } else { own(at) }
}

fn whole_tiles(at: At) -> (usize, usize) {
    let (i, j) = (at.i / 8 * 8 + at.j % 8, at.j / 8 * 8 + at.i % 8);
    if is_in_tile(at) { own(At { i, j, ..at }) } else { own(at) }
}

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    typed!(call.case.dtype, turn(call, steps))
}

fn turn<T: Stored>(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let Problem { batch, m, n } = Problem::of(call.case);
    let x = call.inputs[0].rows::<T>()?;
    let mut y = call.outputs[0].rows_mut::<T>()?;
    let stride = x.row_stride();
    for (plane, j) in (0..batch).flat_map(|plane| (0..n).map(move |j| (plane, j))) {
        for i in 0..m {
            let at = At { plane, i, j, m, n, stride };
            if (steps.writes)(at) {
                let (row, col) = (steps.from)(at);
                let value = (steps.value)(T::DTYPE, x.row(row)[col].widen());
                y.row_mut(plane * n + j)[i] = T::narrow(value);
            }
        }
    }
    Ok(())
}
