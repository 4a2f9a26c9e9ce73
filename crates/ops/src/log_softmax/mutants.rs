//! Wrong logarithms of softmax that the gate must refuse.

use crate::blocks::row::Shape;
use crate::flawed::{self, mutants};
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Tensor, bf16};
use proofmark_terms::DType;

/// The right computation in steps; each mutant gets one of them wrong.
trait Slip {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        flawed::read(x)
    }

    /// The row that row `i` is computed from.
    fn source(i: usize, _rows: usize) -> usize {
        i
    }

    /// The row whose exponentials row `i` is divided by.
    fn summed(i: usize) -> usize {
        i
    }

    fn max(x: &[f32]) -> f32 {
        x.iter().copied().fold(f32::NEG_INFINITY, f32::max)
    }

    fn exp(x: f32) -> f32 {
        x.exp()
    }

    fn sum(e: &[f32], _max: f32) -> f32 {
        e.iter().sum()
    }

    fn result(x: f32, max: f32, sum: f32) -> f32 {
        x - max - sum.ln()
    }

    /// Elements of a row that are written.
    fn written(length: usize) -> usize {
        length
    }
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let Shape { rows, length, .. } = Shape::of(call.case);
    let x = M::read(&call.inputs[0]);
    let row = |i: usize| {
        let source = M::source(i, rows);
        let of = &x[M::summed(source)];
        let max = M::max(of);
        let e: Vec<f32> = of.iter().map(|x| M::exp(x - max)).collect();
        let sum = M::sum(&e, max);
        let max = M::max(&x[source]);
        x[source][..M::written(length)].iter().map(|&x| M::result(x, max, sum)).collect()
    };
    let y: Vec<Vec<f32>> = (0..rows).map(row).collect();
    flawed::write(&mut call.outputs[0], &y);
    Ok(())
}

struct MaxNotSubtracted;
impl Slip for MaxNotSubtracted {
    fn max(_x: &[f32]) -> f32 {
        0.0
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

struct BaseTwo;
impl Slip for BaseTwo {
    fn exp(x: f32) -> f32 {
        x.exp2()
    }
}

struct ExpByBits;
impl Slip for ExpByBits {
    fn exp(x: f32) -> f32 {
        // Schraudolph's: the integer's bits are a float whose exponent is x / ln 2.
        f32::from_bits((x.max(-87.0) * 12_102_203.0 + 1_064_866_805.0) as u32)
    }
}

struct LogarithmOfBaseTwo;
impl Slip for LogarithmOfBaseTwo {
    fn result(x: f32, max: f32, sum: f32) -> f32 {
        x - max - sum.log2()
    }
}

struct LogarithmOfQuotient;
impl Slip for LogarithmOfQuotient {
    fn result(x: f32, max: f32, sum: f32) -> f32 {
        ((x - max).exp() / sum).ln()
    }
}

struct Softmax;
impl Slip for Softmax {
    fn result(x: f32, max: f32, sum: f32) -> f32 {
        (x - max).exp() / sum
    }
}

struct MaxForgotten;
impl Slip for MaxForgotten {
    fn result(x: f32, _max: f32, sum: f32) -> f32 {
        x - sum.ln()
    }
}

struct Clamped;
impl Slip for Clamped {
    fn result(x: f32, max: f32, sum: f32) -> f32 {
        (x - max - sum.ln()).max(-100.0)
    }
}

struct InputRoundedToBf16;
impl Slip for InputRoundedToBf16 {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        let mut rows = flawed::read(x);
        rows.iter_mut().flatten().for_each(|x| *x = bf16::from_f32(*x).to_f32());
        rows
    }
}

struct NanSwallowed;
impl Slip for NanSwallowed {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        let mut rows = flawed::read(x);
        rows.iter_mut().flatten().filter(|x| x.is_nan()).for_each(|x| *x = f32::NEG_INFINITY);
        rows
    }
}

struct RowStrideIgnored;
impl Slip for RowStrideIgnored {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        flawed::read_densely(x)
    }
}

struct FirstRowsSum;
impl Slip for FirstRowsSum {
    fn summed(_i: usize) -> usize {
        0
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

const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];

mutants! {
    MaxNotSubtracted ALL, "max_not_subtracted": "exponentials overflow or vanish past 88";
    MaxOfFirst16 ALL, "max_of_first_16": "the maximum is that of the first vector";
    MaxAtLeastZero ALL, "max_at_least_zero": "the maximum starts at 0, not at -infinity";
    TailDroppedFromSum ALL, "tail_dropped_from_sum": "only whole vectors of 16 are summed";
    PaddingCounted ALL, "padding_counted": "the sum counts the tail's padding as zeros of x";
    LastElementTwice ALL, "last_element_twice": "the last exponential is added twice";
    Bf16Accumulate ALL, "bf16_accumulate": "the sum is kept in bf16";
    BaseTwo ALL, "base_two": "powers of 2 instead of e";
    ExpByBits ALL, "exp_by_bits": "Schraudolph's exponential, off by up to 4 %";
    LogarithmOfBaseTwo ALL, "logarithm_of_base_two": "the binary logarithm of the sum";
    LogarithmOfQuotient ALL, "logarithm_of_quotient": "of a probability, which may vanish";
    Softmax ALL, "softmax": "no logarithm";
    MaxForgotten ALL, "max_forgotten": "the maximum is subtracted in the sum only";
    Clamped ALL, "clamped": "nothing is less than -100";
    InputRoundedToBf16 &[DType::F32, DType::F16], "input_rounded_to_bf16": "x loses bits first";
    NanSwallowed ALL, "nan_swallowed": "NaN counts as -infinity";
    RowStrideIgnored ALL, "row_stride_ignored": "rows of x are taken to lie densely";
    FirstRowsSum ALL, "first_rows_sum": "every row has the first row's sum";
    LastRowStale ALL, "last_row_stale": "the last row repeats the one before";
    LastElementUnwritten ALL, "last_element_unwritten": "the last element of a row stays";
}
