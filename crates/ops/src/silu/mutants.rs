//! Wrong SiLUs that the gate must refuse: each is right but for one slip.

use crate::blocks::stored::Stored;
use crate::flawed::Flawed;
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_schema::DType;
use proofmark_tensor::{bf16, f16};
use std::f32::consts::{FRAC_2_PI, LOG2_E};

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
    /// Row stride of x.
    stride: usize,
    dtype: DType,
}

/// The steps; a mutant replaces one.
#[derive(Clone, Copy)]
struct Steps {
    /// Whether the element is written.
    writes: fn(At) -> bool,
    /// Where x is read.
    from: fn(At) -> (usize, usize),
    /// The formula.
    of: fn(f32) -> f32,
    /// What happens to the result before it is rounded to nearest.
    round: fn(At, f32) -> f32,
}

const RIGHT: Steps =
    Steps { writes: |_| true, from: |at| (at.row, at.col), of: silu, round: |_, result| result };

fn silu(x: f32) -> f32 {
    with(x, f32::exp)
}

/// SiLU with another exponential.
fn with(x: f32, exp: fn(f32) -> f32) -> f32 {
    let e = exp(-x.abs());
    (if x < 0.0 { x * e } else { x }) / (1.0 + e)
}

/// Each line: name, element types, the flaw, and the steps that are wrong.
macro_rules! mutants {
    ($($name:literal, $dtypes:expr, $flaw:literal, $steps:expr;)*) => {
        &[$(Mutant {
            name: $name,
            flaw: $flaw,
            kernel: &Flawed { name: $name, dtypes: $dtypes, run: |call| run(call, $steps) },
        }),*]
    };
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! {
    "relu", ALL, "negative elements become 0",
        Steps { of: |x| if x < 0.0 { 0.0 } else { x }, ..RIGHT };
    "sigmoid_only", ALL, "the factor x is missing",
        Steps { of: sigmoid, ..RIGHT };
    "sign_of_exponent_lost", ALL, "x / (1 + exp(x))",
        Steps { of: |x| -silu(-x), ..RIGHT };
    "quick_gelu", ALL, "the slope is 1.702",
        Steps { of: |x| silu(1.702 * x) / 1.702, ..RIGHT };
    "tanh_gelu", ALL, "the neighbour in the list of activations",
        Steps { of: tanh_gelu, ..RIGHT };
    "hard_swish", ALL, "the logistic function is three straight lines",
        Steps { of: hard_swish, ..RIGHT };
    "slope_off", ALL, "the slope is 1.001",
        Steps { of: |x| silu(1.001 * x) / 1.001, ..RIGHT };
    "result_scaled", ALL, "the result is a thousandth too large",
        Steps { of: |x| silu(x) * 1.001, ..RIGHT };
    "exp_approximate", ALL, "the exponential is linear between powers of two",
        Steps { of: |x| with(x, linear_exp), ..RIGHT };
    "exp_overflows", &[DType::F32, DType::Bf16], "x / (1 + exp(−x)) vanishes below -88",
        Steps { of: |x| x / (1.0 + (-x).exp()), ..RIGHT };
    "one_branch", ALL, "x·e / (1 + e) with e = exp(x) is infinity over infinity above 88",
        Steps { of: |x| x * x.exp() / (1.0 + x.exp()), ..RIGHT };
    "exp_clamped", ALL, "no exponential is less than exp(-20)",
        Steps { of: |x| with(x, |x| if x < -20.0 { (-20f32).exp() } else { x.exp() }), ..RIGHT };
    "reciprocal_of_12_bits", ALL, "the reciprocal is the processor's estimate, not refined",
        Steps { of: estimated, ..RIGHT };
    "input_rounded_to_bf16", &[DType::F32, DType::F16], "x loses bits first",
        Steps { of: |x| silu(bf16::from_f32(x).to_f32()), ..RIGHT };
    "sigmoid_rounded_to_bf16", ALL, "the logistic function is stored between two passes",
        Steps { of: |x| x * bf16::from_f32(sigmoid(x)).to_f32(), ..RIGHT };
    "truncates", NARROW, "rounds towards zero",
        Steps { round: truncate, ..RIGHT };
    "flushes_subnormals", ALL, "subnormal results become zero",
        Steps { round: flush, ..RIGHT };
    "nan_swallowed", ALL, "NaN becomes 0",
        Steps { of: |x| if x.is_nan() { 0.0 } else { silu(x) }, ..RIGHT };
    "negative_infinity_is_zero", ALL, "-infinity gives the limit of the function, not NaN",
        Steps { of: |x| if x == f32::NEG_INFINITY { -0.0 } else { silu(x) }, ..RIGHT };
    "negative_zero_lost", ALL, "-0 becomes 0",
        Steps { of: |x| silu(x) + 0.0, ..RIGHT };
    "tail_dropped", ALL, "elements past the last whole vector of 16 are not written",
        Steps { writes: |at| at.col < at.cols - at.cols % 16, ..RIGHT };
    "last_element_unwritten", ALL, "the loop ends one element early",
        Steps { writes: |at| (at.row + 1, at.col + 1) != (at.rows, at.cols), ..RIGHT };
    "last_row_stale", ALL, "the last row repeats the one before",
        Steps { from: stale, ..RIGHT };
    "off_by_one_index", ALL, "x comes from the element after",
        Steps { from: |at| (at.row, (at.col + 1).min(at.cols - 1)), ..RIGHT };
    "row_stride_ignored", ALL, "rows of x are taken to lie densely",
        Steps { from: as_if_dense, ..RIGHT };
};

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

fn tanh_gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + (FRAC_2_PI.sqrt() * (x + 0.044_715 * x * x * x)).tanh())
}

fn hard_swish(x: f32) -> f32 {
    x * (x + 3.0).clamp(0.0, 6.0) / 6.0
}

/// Takes the fraction of the power of two for its logarithm: up to 6 % too large.
fn linear_exp(x: f32) -> f32 {
    if x.is_nan() || x < -87.0 {
        return x.exp();
    }
    f32::from_bits(((x * LOG2_E + 127.0) * 8_388_608.0) as u32)
}

fn estimated(x: f32) -> f32 {
    let e = (-x.abs()).exp();
    let reciprocal = f32::from_bits((1.0 / (1.0 + e)).to_bits() & !0xfff);
    (if x < 0.0 { x * e } else { x }) * reciprocal
}

fn truncate(at: At, result: f32) -> f32 {
    let dropped = 24 - at.dtype.significand_bits();
    if result.is_nan() { result } else { f32::from_bits(result.to_bits() >> dropped << dropped) }
}

fn flush(at: At, result: f32) -> f32 {
    let border = 2f32.powi(at.dtype.min_exponent());
    if result.abs() < border { 0f32.copysign(result) } else { result }
}

fn stale(at: At) -> (usize, usize) {
    (if at.row + 1 == at.rows { at.row.saturating_sub(1) } else { at.row }, at.col)
}

fn as_if_dense(at: At) -> (usize, usize) {
    let offset = at.row * at.cols + at.col;
    // Padding cannot be read through a view of rows; any other element is as wrong.
    (offset / at.stride, (offset % at.stride).min(at.cols - 1))
}

fn run(call: &mut Call<'_>, steps: Steps) -> Result<(), KernelError> {
    match call.case.dtype {
        DType::F32 => typed::<f32>(call, steps),
        DType::F16 => typed::<f16>(call, steps),
        _ => typed::<bf16>(call, steps),
    }
}

fn typed<T: Stored>(call: &mut Call<'_>, steps: Steps) -> Result<(), KernelError> {
    let x = call.inputs[0].rows::<T>()?;
    let mut y = call.outputs[0].rows_mut::<T>()?;
    let (rows, cols, stride, dtype) = (x.rows(), x.cols(), x.row_stride(), T::DTYPE);
    for row in 0..rows {
        for col in 0..cols {
            let at = At { row, col, rows, cols, stride, dtype };
            if !(steps.writes)(at) {
                continue;
            }
            let (i, j) = (steps.from)(at);
            let result = (steps.of)(x.row(i)[j].widen());
            y.row_mut(row)[col] = T::narrow((steps.round)(at, result));
        }
    }
    Ok(())
}
