//! Wrong softmaxes that the gate must refuse.

use super::definition::Problem;
use crate::blocks::stored::Stored;
use crate::flawed::mutants;
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Rows, bf16, f16};
use proofmark_terms::DType;

/// The right computation in steps; each mutant gets one of them wrong.
trait Slip {
    const STRIDE_IGNORED: bool = false;

    /// The row that row `i` is computed from.
    fn source(i: usize, _rows: usize) -> usize {
        i
    }

    /// How many columns of row `i` are seen.
    fn width(problem: &Problem, i: usize) -> usize {
        problem.width(i)
    }

    /// What a hidden element counts as.
    const HIDDEN: f32 = f32::NEG_INFINITY;

    fn row(x: &[f32], _first_row: &[f32]) -> Vec<f32> {
        let max = Self::max(x);
        let e: Vec<f32> = x.iter().map(|&x| Self::exp(Self::shift(x, max))).collect();
        let sum = Self::sum(&e, max);
        e.iter().map(|&e| Self::result(e, sum)).collect()
    }

    fn element(x: f32) -> f32 {
        x
    }

    fn max(x: &[f32]) -> f32 {
        x.iter().copied().fold(f32::NEG_INFINITY, f32::max)
    }

    fn shift(x: f32, max: f32) -> f32 {
        x - max
    }

    fn exp(x: f32) -> f32 {
        x.exp()
    }

    fn sum(e: &[f32], _max: f32) -> f32 {
        e.iter().sum()
    }

    fn result(e: f32, sum: f32) -> f32 {
        e / sum
    }

    /// Elements of a row that are written.
    fn written(length: usize) -> usize {
        length
    }
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    match call.case.dtype {
        DType::Bf16 => typed::<M, bf16>(call),
        DType::F16 => typed::<M, f16>(call),
        _ => typed::<M, f32>(call),
    }
}

fn typed<M: Slip, T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let source = match problem.is_in_place {
        true => call.outputs[0].rows::<T>()?,
        false => call.inputs[0].rows::<T>()?,
    };
    let mut x = read::<M, T>(source);
    for (i, row) in x.iter_mut().enumerate() {
        row.iter_mut().skip(M::width(&problem, i)).for_each(|x| *x = M::HIDDEN);
    }
    let mut y = call.outputs[0].rows_mut::<T>()?;
    for i in 0..x.len() {
        let result = M::row(&x[M::source(i, x.len())], &x[0]);
        let written = M::written(result.len());
        for (y, &result) in y.row_mut(i).iter_mut().zip(&result[..written]) {
            *y = T::narrow(result);
        }
    }
    Ok(())
}

fn read<M: Slip, T: Stored>(mut x: Rows<'_, T>) -> Vec<Vec<f32>> {
    if M::STRIDE_IGNORED {
        // SAFETY: rows of the same length at a smaller or equal stride end before the last row
        // of `x` does; what lies between rows is initialised memory of the same operand.
        x = unsafe { Rows::from_raw(x.as_ptr(), x.rows(), x.cols(), x.cols()) };
    }
    let row = |i| x.row(i).iter().map(|x| M::element(x.widen())).collect();
    (0..x.rows()).map(row).collect()
}

struct MaxNotSubtracted;
impl Slip for MaxNotSubtracted {
    fn shift(x: f32, _max: f32) -> f32 {
        x
    }
}

struct MaxOfFirst16;
impl Slip for MaxOfFirst16 {
    fn max(x: &[f32]) -> f32 {
        x.iter().take(16).copied().fold(f32::NEG_INFINITY, f32::max)
    }
}

struct MaxAtLeastZero;
impl Slip for MaxAtLeastZero {
    fn max(x: &[f32]) -> f32 {
        x.iter().copied().fold(0.0, f32::max)
    }
}

struct TailDroppedFromSum;
impl Slip for TailDroppedFromSum {
    fn sum(e: &[f32], _max: f32) -> f32 {
        e[..e.len() / 16 * 16].iter().sum()
    }
}

struct PaddingCounted;
impl Slip for PaddingCounted {
    fn sum(e: &[f32], max: f32) -> f32 {
        let padding = e.len().next_multiple_of(16) - e.len();
        e.iter().sum::<f32>() + padding as f32 * (-max).exp()
    }
}

struct LastElementTwice;
impl Slip for LastElementTwice {
    fn sum(e: &[f32], _max: f32) -> f32 {
        e.iter().chain(e.last()).sum()
    }
}

struct Bf16Accumulate;
impl Slip for Bf16Accumulate {
    fn sum(e: &[f32], _max: f32) -> f32 {
        e.iter().fold(bf16::ZERO, |sum, e| bf16::from_f32(sum.to_f32() + e)).to_f32()
    }
}

struct ExpByBits;
impl Slip for ExpByBits {
    fn exp(x: f32) -> f32 {
        // Schraudolph's: the integer's bits are a float whose exponent is x / ln 2.
        f32::from_bits((x.max(-87.0) * 12_102_203.0 + 1_064_866_805.0) as u32)
    }
}

struct ExpOfDegreeTwo;
impl Slip for ExpOfDegreeTwo {
    fn exp(x: f32) -> f32 {
        let n = (x * std::f32::consts::LOG2_E).round();
        let r = x - n * std::f32::consts::LN_2;
        (1.0 + r + 0.5 * r * r) * n.exp2()
    }
}

struct ExpClamped;
impl Slip for ExpClamped {
    fn exp(x: f32) -> f32 {
        if x < -20.0 { (-20f32).exp() } else { x.exp() }
    }
}

struct BaseTwo;
impl Slip for BaseTwo {
    fn exp(x: f32) -> f32 {
        x.exp2()
    }
}

struct Temperature;
impl Slip for Temperature {
    fn exp(x: f32) -> f32 {
        (x / 1.001).exp()
    }
}

struct LogSoftmax;
impl Slip for LogSoftmax {
    fn result(e: f32, sum: f32) -> f32 {
        (e / sum).ln()
    }
}

struct ReciprocalEstimate;
impl Slip for ReciprocalEstimate {
    fn result(e: f32, sum: f32) -> f32 {
        // The 12 bits that the estimating instruction gives.
        e * f32::from_bits((1.0 / sum).to_bits() & 0xffff_f000)
    }
}

struct SubnormalsFlushed;
impl Slip for SubnormalsFlushed {
    fn result(e: f32, sum: f32) -> f32 {
        if e / sum < f32::MIN_POSITIVE { 0.0 } else { e / sum }
    }
}

struct ExponentialsRoundedEarly;
impl Slip for ExponentialsRoundedEarly {
    fn result(e: f32, sum: f32) -> f32 {
        bf16::from_f32(e).to_f32() / sum
    }
}

struct ResultTruncated;
impl Slip for ResultTruncated {
    fn result(e: f32, sum: f32) -> f32 {
        f32::from_bits((e / sum).to_bits() & 0xffff_0000)
    }
}

struct InputRoundedToBf16;
impl Slip for InputRoundedToBf16 {
    fn element(x: f32) -> f32 {
        bf16::from_f32(x).to_f32()
    }
}

struct NanSwallowed;
impl Slip for NanSwallowed {
    fn element(x: f32) -> f32 {
        if x.is_nan() { f32::NEG_INFINITY } else { x }
    }
}

struct MaskedRowZeroed;
impl Slip for MaskedRowZeroed {
    fn row(x: &[f32], _first_row: &[f32]) -> Vec<f32> {
        let max = Self::max(x);
        let max = if max == f32::NEG_INFINITY { 0.0 } else { max };
        let e: Vec<f32> = x.iter().map(|x| (x - max).exp()).collect();
        let sum: f32 = e.iter().sum();
        e.iter().map(|e| if sum == 0.0 { 0.0 } else { e / sum }).collect()
    }
}

struct FirstRowsSum;
impl Slip for FirstRowsSum {
    fn row(x: &[f32], first_row: &[f32]) -> Vec<f32> {
        let (max, first_max) = (Self::max(x), Self::max(first_row));
        let sum: f32 = first_row.iter().map(|x| (x - first_max).exp()).sum();
        x.iter().map(|x| (x - max).exp() / sum).collect()
    }
}

struct LastRowStale;
impl Slip for LastRowStale {
    fn source(i: usize, rows: usize) -> usize {
        if i > 0 && i + 1 == rows { i - 1 } else { i }
    }
}

struct LastElementUnwritten;
impl Slip for LastElementUnwritten {
    fn written(length: usize) -> usize {
        length.saturating_sub(1)
    }
}

struct RowStrideIgnored;
impl Slip for RowStrideIgnored {
    const STRIDE_IGNORED: bool = true;
}

struct MaskIgnored;
impl Slip for MaskIgnored {
    fn width(problem: &Problem, _i: usize) -> usize {
        problem.length
    }
}

struct MaskOfTopLeft;
impl Slip for MaskOfTopLeft {
    fn width(problem: &Problem, i: usize) -> usize {
        problem.causal.map_or(problem.length, |rows| i % rows + 1)
    }
}

struct MaskHidesDiagonal;
impl Slip for MaskHidesDiagonal {
    fn width(problem: &Problem, i: usize) -> usize {
        if problem.causal.is_some() { problem.width(i).saturating_sub(1) } else { problem.length }
    }
}

struct MaskCountsOnOverBatch;
impl Slip for MaskCountsOnOverBatch {
    fn width(problem: &Problem, i: usize) -> usize {
        let Some(rows) = problem.causal else { return problem.length };
        (problem.length + i + 1).saturating_sub(rows)
    }
}

struct MaskedAsZero;
impl Slip for MaskedAsZero {
    const HIDDEN: f32 = 0.0;
}

const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];
/// Those that have numbers as small as f32 has.
const WIDE: &[DType] = &[DType::F32, DType::Bf16];

mutants! {
    MaxNotSubtracted ALL, "max_not_subtracted": "exponentials overflow or vanish past 88";
    MaxOfFirst16 ALL, "max_of_first_16": "the maximum is that of the first vector";
    MaxAtLeastZero ALL, "max_at_least_zero": "the maximum starts at 0, not at -infinity";
    TailDroppedFromSum ALL, "tail_dropped_from_sum": "only whole vectors of 16 are summed";
    PaddingCounted ALL, "padding_counted": "the sum counts the tail's padding as zeros of x";
    LastElementTwice ALL, "last_element_twice": "the last exponential is added twice";
    Bf16Accumulate ALL, "bf16_accumulate": "the sum is kept in bf16";
    ExpByBits ALL, "exp_by_bits": "Schraudolph's exponential, off by up to 4 %";
    ExpOfDegreeTwo ALL, "exp_of_degree_two": "a polynomial of degree 2 after the reduction";
    ExpClamped WIDE, "exp_clamped": "nothing is less than exp(-20)";
    BaseTwo ALL, "base_two": "powers of 2 instead of e";
    Temperature ALL, "temperature": "differences are divided by 1.001";
    LogSoftmax ALL, "log_softmax": "the logarithm of the result";
    ReciprocalEstimate ALL, "reciprocal_estimate": "one over the sum has 12 bits";
    SubnormalsFlushed WIDE, "subnormals_flushed": "subnormal results become 0";
    ExponentialsRoundedEarly ALL, "exponentials_rounded_early": "they are kept in bf16";
    ResultTruncated ALL, "result_truncated": "results are cut to bf16, not rounded";
    InputRoundedToBf16 &[DType::F32, DType::F16], "input_rounded_to_bf16": "x loses bits first";
    NanSwallowed ALL, "nan_swallowed": "NaN counts as -infinity";
    MaskedRowZeroed ALL, "masked_row_zeroed": "a row of -infinity becomes 0, not NaN";
    FirstRowsSum ALL, "first_rows_sum": "every row is divided by the first row's sum";
    LastRowStale ALL, "last_row_stale": "the last row repeats the one before";
    LastElementUnwritten ALL, "last_element_unwritten": "the last element of a row stays";
    RowStrideIgnored ALL, "row_stride_ignored": "rows of x are taken to lie densely";
    MaskIgnored ALL, "mask_ignored": "the causal mask is not applied";
    MaskOfTopLeft ALL, "mask_of_top_left": "row i sees columns 0 to i, however long rows are";
    MaskHidesDiagonal ALL, "mask_hides_diagonal": "the last column seen is hidden too";
    MaskCountsOnOverBatch ALL, "mask_counts_on_over_batch": "only the first problem is masked";
    MaskedAsZero ALL, "masked_as_zero": "hidden elements count as 0, not as -infinity";
}
