//! Wrong gradients of softmax that the gate must refuse.

use crate::flawed::{self, mutants};
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Tensor, bf16, round_to};
use proofmark_terms::DType;

/// The right computation in steps; each mutant gets one of them wrong.
trait Slip {
    fn read(tensor: &Tensor) -> Vec<Vec<f32>> {
        flawed::read(tensor)
    }

    fn read_gradient(tensor: &Tensor) -> Vec<Vec<f32>> {
        flawed::read(tensor)
    }

    /// The row whose sum row `i` gets.
    fn sum_of(i: usize) -> usize {
        i
    }

    fn sum(y: &[f32], dy: &[f32]) -> f32 {
        y.iter().zip(dy).map(|(y, dy)| y * dy).sum()
    }

    fn gradient(y: f32, dy: f32, sum: f32, _dtype: DType) -> f32 {
        y * (dy - sum)
    }

    /// Elements of a row that are written.
    fn written(length: usize) -> usize {
        length
    }

    /// The row that row `i` is computed from.
    fn source(i: usize, _rows: usize) -> usize {
        i
    }
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let (y, dy) = (M::read(&call.inputs[0]), M::read_gradient(&call.inputs[1]));
    let (dtype, rows) = (call.case.dtype, y.len());
    let row = |i: usize| {
        let i = M::source(i, rows);
        let sum = M::sum(&y[M::sum_of(i)], &dy[M::sum_of(i)]);
        let pairs = y[i].iter().zip(&dy[i]).take(M::written(y[i].len()));
        pairs.map(|(&y, &dy)| M::gradient(y, dy, sum, dtype)).collect()
    };
    let dx: Vec<Vec<f32>> = (0..rows).map(row).collect();
    flawed::write(&mut call.outputs[0], &dx);
    Ok(())
}

fn narrowed(value: f32) -> f32 {
    bf16::from_f32(value).to_f32()
}

struct SumForgotten;
impl Slip for SumForgotten {
    fn sum(_y: &[f32], _dy: &[f32]) -> f32 {
        0.0
    }
}

struct SumOfGradients;
impl Slip for SumOfGradients {
    fn sum(_y: &[f32], dy: &[f32]) -> f32 {
        dy.iter().sum()
    }
}

struct SumAveraged;
impl Slip for SumAveraged {
    fn sum(y: &[f32], dy: &[f32]) -> f32 {
        y.iter().zip(dy).map(|(y, dy)| y * dy).sum::<f32>() / y.len() as f32
    }
}

struct TailDropped;
impl Slip for TailDropped {
    fn sum(y: &[f32], dy: &[f32]) -> f32 {
        y.iter().zip(dy).take(y.len() / 16 * 16).map(|(y, dy)| y * dy).sum()
    }
}

struct SumInBf16;
impl Slip for SumInBf16 {
    fn sum(y: &[f32], dy: &[f32]) -> f32 {
        y.iter().zip(dy).fold(0.0, |sum, (y, dy)| narrowed(sum + y * dy))
    }
}

struct SumRounded;
impl Slip for SumRounded {
    fn gradient(y: f32, dy: f32, sum: f32, dtype: DType) -> f32 {
        y * (dy - round_to(dtype, f64::from(sum)) as f32)
    }
}

struct Added;
impl Slip for Added {
    fn gradient(y: f32, dy: f32, sum: f32, _dtype: DType) -> f32 {
        y * (dy + sum)
    }
}

struct OfLogSoftmax;
impl Slip for OfLogSoftmax {
    fn gradient(y: f32, dy: f32, sum: f32, _dtype: DType) -> f32 {
        dy - y * sum
    }
}

struct OfSigmoid;
impl Slip for OfSigmoid {
    fn gradient(y: f32, dy: f32, _sum: f32, _dtype: DType) -> f32 {
        y * (1.0 - y) * dy
    }
}

struct DifferenceRounded;
impl Slip for DifferenceRounded {
    fn gradient(y: f32, dy: f32, sum: f32, dtype: DType) -> f32 {
        y * round_to(dtype, f64::from(dy - sum)) as f32
    }
}

struct FirstRowsSum;
impl Slip for FirstRowsSum {
    fn sum_of(_i: usize) -> usize {
        0
    }
}

struct NanSwallowed;
impl Slip for NanSwallowed {
    fn read(tensor: &Tensor) -> Vec<Vec<f32>> {
        let mut rows = flawed::read(tensor);
        rows.iter_mut().flatten().filter(|x| x.is_nan()).for_each(|x| *x = 0.0);
        rows
    }
}

struct InputRoundedToBf16;
impl Slip for InputRoundedToBf16 {
    fn read(tensor: &Tensor) -> Vec<Vec<f32>> {
        let mut rows = flawed::read(tensor);
        rows.iter_mut().flatten().for_each(|x| *x = narrowed(*x));
        rows
    }
}

struct RowStrideIgnored;
impl Slip for RowStrideIgnored {
    fn read_gradient(tensor: &Tensor) -> Vec<Vec<f32>> {
        flawed::read_densely(tensor)
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
const NARROW: &[DType] = &[DType::Bf16, DType::F16];

mutants! {
    SumForgotten ALL, "sum_forgotten": "y · dy";
    SumOfGradients ALL, "sum_of_gradients": "dy is summed without y";
    SumAveraged ALL, "sum_averaged": "the mean of y · dy";
    TailDropped ALL, "tail_dropped": "the sum lacks what follows the last whole vector";
    SumInBf16 ALL, "sum_in_bf16": "the sum is kept in bf16";
    SumRounded NARROW, "sum_rounded": "the sum is rounded to the element type";
    Added ALL, "added": "the sum is added";
    OfLogSoftmax ALL, "of_log_softmax": "dy − y · Σ y·dy";
    OfSigmoid ALL, "of_sigmoid": "as if elements did not share a sum";
    DifferenceRounded NARROW, "difference_rounded": "rounded before the product";
    FirstRowsSum ALL, "first_rows_sum": "every row gets the first one's sum";
    NanSwallowed ALL, "nan_swallowed": "NaN in y counts as 0";
    InputRoundedToBf16 &[DType::F32, DType::F16], "input_rounded_to_bf16": "y loses bits first";
    RowStrideIgnored ALL, "row_stride_ignored": "rows of dy are taken to lie densely";
    LastRowStale ALL, "last_row_stale": "the last row repeats the one before";
    LastElementUnwritten ALL, "last_element_unwritten": "the last element of a row stays";
}
