//! Wrong gradients of softmax that the gate must refuse.

use crate::flawed::{
    ALL, FINE, NARROW, Read, all_but_last, mutants, nan_as_zero, narrowed, read, read_as,
    read_densely, stale, steps, sum_in_bf16, whole_vectors, write,
};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::round_to;
use proofmark_terms::DType;

steps! { Steps, RIGHT;
    read: Read = read,
    read_gradient: Read = read,
    /// The row whose sum row `i` gets.
    sum_of: fn(usize) -> usize = |i| i,
    /// Of y and dy.
    sum: fn(&[f32], &[f32]) -> f32 = |y, dy| products(y, dy).sum(),
    /// Of y, dy and the sum.
    gradient: fn(f32, f32, f32, DType) -> f32 = |y, dy, sum, _| y * (dy - sum),
    /// Elements of a row that are written.
    written: fn(usize) -> usize = |length| length,
    /// The row that row `i` is computed from, of all rows.
    source: fn(usize, usize) -> usize = |i, _| i,
}

fn products(y: &[f32], dy: &[f32]) -> impl Iterator<Item = f32> {
    y.iter().zip(dy).map(|(y, dy)| y * dy)
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "sum_forgotten", ALL, "y · dy", sum: |_, _| 0.0;
    "sum_of_gradients", ALL, "dy is summed without y", sum: |_, dy| dy.iter().sum();
    "sum_averaged", ALL, "the mean of y · dy",
        sum: |y, dy| products(y, dy).sum::<f32>() / y.len() as f32;
    "tail_dropped", ALL, "the sum lacks what follows the last whole vector",
        sum: |y, dy| products(y, dy).take(whole_vectors(y.len())).sum();
    "sum_in_bf16", ALL, "the sum is kept in bf16", sum: |y, dy| sum_in_bf16(products(y, dy));
    "sum_rounded", NARROW, "the sum is rounded to the element type",
        gradient: |y, dy, sum, dtype| y * (dy - round_to(dtype, f64::from(sum)) as f32);
    "added", ALL, "the sum is added", gradient: |y, dy, sum, _| y * (dy + sum);
    "of_log_softmax", ALL, "dy − y · Σ y·dy", gradient: |y, dy, sum, _| dy - y * sum;
    "of_sigmoid", ALL, "as if elements did not share a sum",
        gradient: |y, dy, _, _| y * (1.0 - y) * dy;
    "difference_rounded", NARROW, "rounded before the product",
        gradient: |y, dy, sum, dtype| y * round_to(dtype, f64::from(dy - sum)) as f32;
    "first_rows_sum", ALL, "every row gets the first one's sum", sum_of: |_| 0;
    "nan_swallowed", ALL, "NaN in y counts as 0", read: |y| read_as(y, nan_as_zero);
    "input_rounded_to_bf16", FINE, "y loses bits first", read: |y| read_as(y, narrowed);
    "row_stride_ignored", ALL, "rows of dy are taken to lie densely", read_gradient: read_densely;
    "last_row_stale", ALL, "the last row repeats the one before", source: stale;
    "last_element_unwritten", ALL, "the last element of a row stays", written: all_but_last;
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let (y, dy) = ((steps.read)(&call.inputs[0]), (steps.read_gradient)(&call.inputs[1]));
    let (dtype, rows) = (call.case.dtype, y.len());
    let row = |i: usize| {
        let i = (steps.source)(i, rows);
        let sum = (steps.sum)(&y[(steps.sum_of)(i)], &dy[(steps.sum_of)(i)]);
        let pairs = y[i].iter().zip(&dy[i]).take((steps.written)(y[i].len()));
        pairs.map(|(&y, &dy)| (steps.gradient)(y, dy, sum, dtype)).collect()
    };
    let dx: Vec<Vec<f32>> = (0..rows).map(row).collect();
    write(&mut call.outputs[0], &dx)
}
