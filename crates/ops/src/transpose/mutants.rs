//! Wrong transposes that the gate must refuse: each is right but for one slip.

use super::definition::Problem;
use crate::blocks::made::typed;
use crate::blocks::stored::Stored;
use crate::flawed::stepped;
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::bf16;
use proofmark_terms::DType;

/// A slip on every element type.
const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];

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
    dtype: DType,
}

/// The steps; a mutant replaces one.
#[derive(Clone, Copy)]
struct Steps {
    /// Whether the element is written.
    writes: fn(At) -> bool,
    /// Where x is read: row of all matrices, and column.
    from: fn(At) -> (usize, usize),
    /// What becomes of the element.
    value: fn(At, f32) -> f32,
}

const RIGHT: Steps = Steps { writes: |_| true, from: own, value: |_, x| x };

fn own(at: At) -> (usize, usize) {
    (at.plane * at.m + at.i, at.j)
}

/// The mutant of these steps.
fn flawed(call: &mut Call<'_>, steps: Steps) -> Result<(), KernelError> {
    typed!(call.case.dtype, run(call, steps))
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = stepped! { flawed;
    "copied", ALL, "elements keep their order",
        Steps { from: |at| flat(at, at.j * at.m + at.i), ..RIGHT };
    "mirrored", ALL, "turned by a quarter: columns are read from below",
        Steps { from: |at| own(At { i: at.m - 1 - at.i, ..at }), ..RIGHT };
    "sizes_exchanged", ALL, "x is taken for an n × m matrix",
        Steps { from: |at| flat(at, at.i * at.m + at.j), ..RIGHT };
    "first_matrix_reused", ALL, "every matrix is the first",
        Steps { from: |at| own(At { plane: 0, ..at }), ..RIGHT };
    "row_stride_ignored", ALL, "rows of x are taken to lie densely",
        Steps { from: as_if_dense, ..RIGHT };
    "edge_columns_dropped", ALL, "columns past the last whole tile of 8 are not written",
        Steps { writes: |at| at.j < at.n - at.n % 8, ..RIGHT };
    "edge_rows_dropped", ALL, "rows past the last whole tile of 8 are not written",
        Steps { writes: |at| at.i < at.m - at.m % 8, ..RIGHT };
    "last_element_unwritten", ALL, "the loop ends one element early",
        Steps { writes: |at| (at.i + 1, at.j + 1) != (at.m, at.n), ..RIGHT };
    "halves_not_exchanged", ALL, "within a tile the halves of registers stay where they are",
        Steps { from: halves, ..RIGHT };
    "neighbours_not_interleaved", ALL, "pairs of a tile are not turned",
        Steps { from: pairs, ..RIGHT };
    "tile_not_turned", ALL, "tiles change places and are not turned themselves",
        Steps { from: whole_tiles, ..RIGHT };
    "off_by_one_row", ALL, "x comes from the row after",
        Steps { from: |at| own(At { i: (at.i + 1).min(at.m - 1), ..at }), ..RIGHT };
    "rounded_to_bf16", &[DType::F32, DType::F16], "elements lose bits",
        Steps { value: |_, x| bf16::from_f32(x).to_f32(), ..RIGHT };
    "flushes_subnormals", ALL, "subnormal elements become zero",
        Steps {
            value: |at, x| {
                if x.abs() < 2f32.powi(at.dtype.min_exponent()) { 0f32.copysign(x) } else { x }
            },
            ..RIGHT
        };
    "nan_swallowed", ALL, "NaN becomes 0",
        Steps { value: |_, x| if x.is_nan() { 0.0 } else { x }, ..RIGHT };
};

/// Element `offset` of the matrix in the order of its rows.
fn flat(at: At, offset: usize) -> (usize, usize) {
    let offset = offset % (at.m * at.n);
    (at.plane * at.m + offset / at.n, offset % at.n)
}

fn as_if_dense(at: At) -> (usize, usize) {
    let offset = (at.plane * at.m + at.i) * at.n + at.j;
    // Padding cannot be read through a view of rows; any other element is as wrong.
    (offset / at.stride, (offset % at.stride).min(at.n - 1))
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

fn run<T: Stored>(call: &mut Call<'_>, steps: Steps) -> Result<(), KernelError> {
    let Problem { batch, m, n } = Problem::of(call.case);
    let x = call.inputs[0].rows::<T>()?;
    let mut y = call.outputs[0].rows_mut::<T>()?;
    let (stride, dtype) = (x.row_stride(), T::DTYPE);
    for (plane, j) in (0..batch).flat_map(|plane| (0..n).map(move |j| (plane, j))) {
        for i in 0..m {
            let at = At { plane, i, j, m, n, stride, dtype };
            if (steps.writes)(at) {
                let (row, col) = (steps.from)(at);
                let value = (steps.value)(at, x.row(row)[col].widen());
                y.row_mut(plane * n + j)[i] = T::narrow(value);
            }
        }
    }
    Ok(())
}
