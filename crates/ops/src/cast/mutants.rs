//! Wrong changes of element type that the gate must refuse: each is right but for one slip.

use super::definition::target;
use crate::blocks::made::typed;
use crate::blocks::stored::Stored;
use crate::flawed::stepped;
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::{bf16, f16};
use proofmark_terms::DType;

/// A slip from every element type.
const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];

/// What a slip may depend on.
#[derive(Clone, Copy)]
struct At {
    row: usize,
    col: usize,
    rows: usize,
    cols: usize,
    /// Row stride of x.
    stride: usize,
    to: DType,
}

/// The steps; a mutant replaces one.
#[derive(Clone, Copy)]
struct Steps {
    /// Whether the element is written.
    writes: fn(At) -> bool,
    /// Where x is read.
    from: fn(At) -> (usize, usize),
    /// What happens to the element before it is rounded.
    value: fn(At, f32) -> f32,
}

const RIGHT: Steps = Steps { writes: |_| true, from: |at| (at.row, at.col), value: |_, x| x };

/// The mutant of these steps.
fn flawed(call: &mut Call<'_>, steps: Steps) -> Result<(), KernelError> {
    typed!(call.case.dtype, from(call, steps))
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = stepped! { flawed;
    "truncates", ALL, "rounds towards zero", Steps { value: truncate, ..RIGHT };
    "ties_away", &[DType::F32, DType::F16], "a tie goes away from zero",
        Steps { value: |at, x| away(at, x), ..RIGHT };
    "ties_up", &[DType::F32, DType::F16], "a tie goes up",
        Steps { value: |at, x| if x > 0.0 { away(at, x) } else { x }, ..RIGHT };
    "rounds_twice", &[DType::F32], "by way of the other 16-bit type",
        Steps { value: |at, x| if at.to == DType::F16 { narrowed(x) } else { halved(x) }, ..RIGHT };
    "flushes_subnormals", ALL, "subnormal results become zero", Steps { value: flush, ..RIGHT };
    "saturates", ALL, "beyond the largest number lies the largest number",
        Steps { value: saturate, ..RIGHT };
    "nan_swallowed", ALL, "NaN becomes 0",
        Steps { value: |_, x| if x.is_nan() { 0.0 } else { x }, ..RIGHT };
    "nan_is_infinite", ALL, "NaN loses its fraction",
        Steps { value: |_, x| if x.is_nan() { f32::INFINITY } else { x }, ..RIGHT };
    "negative_zero_lost", ALL, "-0 becomes 0", Steps { value: |_, x| x + 0.0, ..RIGHT };
    "tail_dropped", ALL, "elements past the last whole vector of 16 are not written",
        Steps { writes: |at| at.col < at.cols - at.cols % 16, ..RIGHT };
    "last_element_unwritten", ALL, "the loop ends one element early",
        Steps { writes: |at| (at.row + 1, at.col + 1) != (at.rows, at.cols), ..RIGHT };
    "row_stride_ignored", ALL, "rows of x are taken to lie densely",
        Steps { from: as_if_dense, ..RIGHT };
    "swapped_neighbours", ALL, "even and odd elements change places",
        Steps { from: neighbour, ..RIGHT };
    "off_by_one_index", ALL, "x comes from the element after",
        Steps { from: |at| (at.row, (at.col + 1).min(at.cols - 1)), ..RIGHT };
};

fn narrowed(x: f32) -> f32 {
    bf16::from_f32(x).to_f32()
}

fn halved(x: f32) -> f32 {
    f16::from_f32(x).to_f32()
}

/// Bits of f32 below those that the type keeps.
fn dropped(at: At) -> u32 {
    24 - at.to.significand_bits()
}

fn truncate(at: At, x: f32) -> f32 {
    let kept = f32::from_bits(x.to_bits() >> dropped(at) << dropped(at));
    let largest = at.to.largest() as f32;
    if x.is_finite() { kept.clamp(-largest, largest) } else { x }
}

/// Moves a tie to its neighbour away from zero.
fn away(at: At, x: f32) -> f32 {
    let half = 1 << dropped(at) >> 1;
    let is_tie = half > 0 && x.is_finite() && x.to_bits() % (2 * half) == half;
    if is_tie { f32::from_bits(x.to_bits() + 1) } else { x }
}

fn flush(at: At, x: f32) -> f32 {
    let border = 2f32.powi(at.to.min_exponent());
    if x.abs() < border { 0f32.copysign(x) } else { x }
}

fn saturate(at: At, x: f32) -> f32 {
    let largest = at.to.largest() as f32;
    x.clamp(-largest, largest)
}

fn as_if_dense(at: At) -> (usize, usize) {
    let offset = at.row * at.cols + at.col;
    // Padding cannot be read through a view of rows; any other element is as wrong.
    (offset / at.stride, (offset % at.stride).min(at.cols - 1))
}

fn neighbour(at: At) -> (usize, usize) {
    (at.row, if at.col ^ 1 < at.cols { at.col ^ 1 } else { at.col })
}

fn from<T: Stored>(call: &mut Call<'_>, steps: Steps) -> Result<(), KernelError> {
    typed!(target(call.case), run::<T>(call, steps))
}

fn run<T: Stored, U: Stored>(call: &mut Call<'_>, steps: Steps) -> Result<(), KernelError> {
    let x = call.inputs[0].rows::<T>()?;
    let mut y = call.outputs[0].rows_mut::<U>()?;
    let (rows, cols, stride) = (x.rows(), x.cols(), x.row_stride());
    for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
        let at = At { row, col, rows, cols, stride, to: U::DTYPE };
        if (steps.writes)(at) {
            let (i, j) = (steps.from)(at);
            y.row_mut(row)[col] = U::narrow((steps.value)(at, x.row(i)[j].widen()));
        }
    }
    Ok(())
}
