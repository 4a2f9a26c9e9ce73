//! Wrong changes of element type that the gate must refuse: each is right but for one slip.

use super::definition::target;
use crate::blocks::made::typed;
use crate::blocks::stored::Stored;
use crate::flawed::{
    ALL, FINE, SINGLE, as_if_dense, flush, mutants, nan_as_zero, narrowed, neighbour, saturate,
    steps, truncate, whole_vectors,
};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::f16;
use proofmark_terms::DType;

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

steps! { Steps, RIGHT;
    /// Whether the element is written.
    writes: fn(At) -> bool = |_| true,
    /// Where x is read.
    from: fn(At) -> (usize, usize) = |at| (at.row, at.col),
    /// What happens to the element before it is rounded.
    value: fn(DType, f32) -> f32 = |_, x| x,
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "truncates", ALL, "rounds towards zero",
        value: |to, x| if x.is_finite() { saturate(to, truncate(to, x)) } else { x };
    "ties_away", FINE, "a tie goes away from zero", value: away;
    "ties_up", FINE, "a tie goes up", value: |to, x| if x > 0.0 { away(to, x) } else { x };
    "rounds_twice", SINGLE, "by way of the other 16-bit type",
        value: |to, x| if to == DType::F16 { narrowed(x) } else { f16::from_f32(x).to_f32() };
    "flushes_subnormals", ALL, "subnormal results become zero", value: flush;
    "saturates", ALL, "beyond the largest number lies the largest number", value: saturate;
    "nan_swallowed", ALL, "NaN becomes 0", value: |_, x| nan_as_zero(x);
    "nan_is_infinite", ALL, "NaN loses its fraction",
        value: |_, x| if x.is_nan() { f32::INFINITY } else { x };
    "negative_zero_lost", ALL, "-0 becomes 0", value: |_, x| x + 0.0;
    "tail_dropped", ALL, "elements past the last whole vector of 16 are not written",
        writes: |at| at.col < whole_vectors(at.cols);
    "last_element_unwritten", ALL, "the loop ends one element early",
        writes: |at| (at.row + 1, at.col + 1) != (at.rows, at.cols);
    "row_stride_ignored", ALL, "rows of x are taken to lie densely",
        from: |at| as_if_dense(at.row, at.col, at.cols, at.stride);
    "swapped_neighbours", ALL, "even and odd elements change places",
        from: |at| (at.row, neighbour(at.col, at.cols));
    "off_by_one_index", ALL, "x comes from the element after",
        from: |at| (at.row, (at.col + 1).min(at.cols - 1));
};

/// Moves a tie to its neighbour away from zero.
fn away(to: DType, x: f32) -> f32 {
    let half = 1 << (24 - to.significand_bits()) >> 1;
    let is_tie = half > 0 && x.is_finite() && x.to_bits() % (2 * half) == half;
    if is_tie { f32::from_bits(x.to_bits() + 1) } else { x }
}

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    typed!(call.case.dtype, from(call, steps))
}

fn from<T: Stored>(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    typed!(target(call.case), convert::<T>(call, steps))
}

fn convert<T: Stored, U: Stored>(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let x = call.inputs[0].rows::<T>()?;
    let mut y = call.outputs[0].rows_mut::<U>()?;
    let (rows, cols, stride) = (x.rows(), x.cols(), x.row_stride());
    for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
        let at = At { row, col, rows, cols, stride, to: U::DTYPE };
        if (steps.writes)(at) {
            let (i, j) = (steps.from)(at);
            y.row_mut(row)[col] = U::narrow((steps.value)(at.to, x.row(i)[j].widen()));
        }
    }
    Ok(())
}
