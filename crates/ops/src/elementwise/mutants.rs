//! Wrong sums that the gate must refuse: each is right but for one slip.

use super::definition::Variant;
use crate::blocks::stored::Stored;
use crate::flawed::Flawed;
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_schema::DType;
use proofmark_tensor::{Rows, bf16, f16, philox4x32};

/// A slip on every element type.
const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];
/// A slip in rounding to fewer bits.
const NARROW: &[DType] = &[DType::Bf16, DType::F16];

/// What a slip may depend on.
#[derive(Clone, Copy)]
struct At {
    row: usize,
    col: usize,
    rows: usize,
    cols: usize,
    /// Row stride of the second operand.
    stride: usize,
    dtype: DType,
}

/// The steps of a sum; a mutant replaces one.
#[derive(Clone, Copy)]
struct Steps {
    /// Whether the element is written.
    writes: fn(At) -> bool,
    /// Where the first operand is read.
    a: fn(At) -> (usize, usize),
    /// Where the second operand is read.
    b: fn(At) -> (usize, usize),
    /// The formula.
    sum: fn(f32, f32) -> f32,
    /// What happens to the sum before it is rounded to nearest or stochastically.
    round: fn(At, f32) -> f32,
    /// The index that random bits are drawn at.
    index: fn(At) -> usize,
    /// Whether stochastic rounding is done where it is asked for.
    is_random: bool,
}

const RIGHT: Steps = Steps {
    writes: |_| true,
    a: |at| (at.row, at.col),
    b: |at| (at.row, at.col),
    sum: |a, b| a + b,
    round: |_, sum| sum,
    index: |at| at.row * at.cols + at.col,
    is_random: true,
};

/// Each line: name, element types, the flaw, and the steps that are wrong.
macro_rules! mutants {
    ($($name:literal, $dtypes:expr, $flaw:literal, $run:expr;)*) => {
        &[$(Mutant {
            name: $name,
            flaw: $flaw,
            kernel: &Flawed { name: $name, dtypes: $dtypes, run: $run },
        }),*]
    };
}

/// Wrong kernels of `add`.
pub(super) const ADD: &[Mutant] = mutants! {
    "tail_dropped", ALL, "elements past the last whole vector of 16 are not written",
        |call| run(call, Steps { writes: |at| at.col < at.cols - at.cols % 16, ..RIGHT });
    "last_element_unwritten", ALL, "the loop ends one element early",
        |call| run(call, Steps { writes: |at| !is_last(at), ..RIGHT });
    "subtracts", ALL, "a - b",
        |call| run(call, Steps { sum: |a, b| a - b, ..RIGHT });
    "adds_b_twice", ALL, "a + 2b",
        |call| run(call, Steps { sum: |a, b| a + b + b, ..RIGHT });
    "ignores_row_stride", ALL, "reads b as if its rows were dense",
        |call| run(call, Steps { b: as_if_dense, ..RIGHT });
    "swapped_neighbours", ALL, "even and odd elements change places",
        |call| run(call, Steps { a: neighbour, b: neighbour, ..RIGHT });
    "row_zero_reused", ALL, "b always comes from its first row",
        |call| run(call, Steps { b: |at| (0, at.col), ..RIGHT });
    "off_by_one_index", ALL, "b comes from the element after",
        |call| run(call, Steps { b: |at| (at.row, (at.col + 1).min(at.cols - 1)), ..RIGHT });
    "flushes_subnormals", ALL, "subnormal sums become zero",
        |call| run(call, Steps { round: flush, ..RIGHT });
    "negative_zero_lost", ALL, "the sum starts from +0",
        |call| run(call, Steps { sum: |a, b| 0.0 + a + b, ..RIGHT });
    "nan_swallowed", ALL, "NaN becomes 0",
        |call| run(call, Steps { sum: |a, b| if (a + b).is_nan() { 0.0 } else { a + b }, ..RIGHT });
    "saturates", ALL, "beyond the largest number lies the largest number",
        |call| run(call, Steps { round: saturate, ..RIGHT });
    "scaled", ALL, "the sum is a thousandth too large",
        |call| run(call, Steps { sum: |a, b| (a + b) * 1.001, ..RIGHT });
    "overlapping_tail", ALL, "the tail is done as a whole vector, which in place adds b twice",
        |call| {
            run(call, RIGHT)?;
            run(call, Steps { writes: is_overlap, ..RIGHT })
        };
    "inputs_rounded_to_bf16", &[DType::F32], "f32 operands lose 16 bits",
        |call| run(call, Steps { sum: |a, b| narrowed(a) + narrowed(b), ..RIGHT });
    "truncates", NARROW, "rounds towards zero",
        |call| run(call, Steps { round: truncate, ..RIGHT });
    "random_without_index", &[DType::Bf16], "every element is rounded with the same random bits",
        |call| run(call, Steps { index: |_| 0, ..RIGHT });
    "random_by_address", &[DType::Bf16], "random bits depend on the row stride",
        |call| run(call, Steps { index: |at| at.row * at.stride + at.col, ..RIGHT });
    "random_ignored", &[DType::Bf16], "rounds to nearest where stochastic rounding is asked for",
        |call| run(call, Steps { is_random: false, ..RIGHT });
};

fn is_last(at: At) -> bool {
    (at.row + 1, at.col + 1) == (at.rows, at.cols)
}

fn as_if_dense(at: At) -> (usize, usize) {
    let offset = at.row * at.cols + at.col;
    // Padding cannot be read through a view of rows; any other element is as wrong.
    (offset / at.stride, (offset % at.stride).min(at.cols - 1))
}

fn neighbour(at: At) -> (usize, usize) {
    (at.row, if at.col ^ 1 < at.cols { at.col ^ 1 } else { at.col })
}

fn is_overlap(at: At) -> bool {
    let whole = at.cols - at.cols % 16;
    at.cols > 16 && (at.cols - 16..whole).contains(&at.col)
}

fn flush(at: At, sum: f32) -> f32 {
    let border = 2f32.powi(at.dtype.min_exponent());
    if sum.abs() < border { 0f32.copysign(sum) } else { sum }
}

fn saturate(at: At, sum: f32) -> f32 {
    let largest = at.dtype.largest() as f32;
    sum.clamp(-largest, largest)
}

fn truncate(at: At, sum: f32) -> f32 {
    let dropped = 24 - at.dtype.significand_bits();
    if sum.is_finite() { f32::from_bits(sum.to_bits() >> dropped << dropped) } else { sum }
}

fn narrowed(value: f32) -> f32 {
    bf16::from_f32(value).to_f32()
}

fn run(call: &mut Call<'_>, steps: Steps) -> Result<(), KernelError> {
    match call.case.dtype {
        DType::F32 => typed::<f32>(call, steps, |sum, _| sum),
        DType::F16 => typed::<f16>(call, steps, |sum, _| f16::from_f32(sum)),
        _ if Variant::of(call.case).stochastic && steps.is_random => {
            typed::<bf16>(call, steps, dither)
        }
        _ => typed::<bf16>(call, steps, |sum, _| bf16::from_f32(sum)),
    }
}

fn dither(sum: f32, random: u32) -> bf16 {
    let bits = if sum.is_finite() { sum.to_bits() + random % 65536 } else { sum.to_bits() };
    bf16::from_bits((bits >> 16) as u16)
}

fn typed<T: Stored>(
    call: &mut Call<'_>,
    steps: Steps,
    narrow: fn(f32, u32) -> T,
) -> Result<(), KernelError> {
    let variant = Variant::of(call.case);
    let state = variant.random(2).map(|position| call.inputs[position].slice::<u32>());
    let state = state.transpose()?.unwrap_or(&[0; 4]);
    let a: Option<Rows<'_, T>> = if variant.in_place { None } else { Some(call.inputs[0].rows()?) };
    let b: Rows<'_, T> = call.inputs[variant.position(2, 1)].rows()?;
    let mut c = call.outputs[0].rows_mut::<T>()?;
    let (rows, cols, stride, dtype) = (c.rows(), c.cols(), b.row_stride(), T::DTYPE);
    for row in 0..rows {
        for col in 0..cols {
            let at = At { row, col, rows, cols, stride, dtype };
            if !(steps.writes)(at) {
                continue;
            }
            let (i, j) = (steps.a)(at);
            let a = a.map_or_else(|| c.row(i)[j], |a| a.row(i)[j]);
            let (i, j) = (steps.b)(at);
            let sum = (steps.sum)(a.widen(), b.row(i)[j].widen());
            let counter = [(steps.index)(at) as u32, 0, state[2], state[3]];
            let random = philox4x32(counter, [state[0], state[1]])[0];
            c.row_mut(row)[col] = narrow((steps.round)(at, sum), random);
        }
    }
    Ok(())
}
