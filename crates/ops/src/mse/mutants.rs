//! Wrong mean squared errors that the gate must refuse.

use super::definition::divisor;
use crate::flawed::{
    ALL, Read, SINGLE, add_numbers, all_but_last, mutants, narrowed, read, read_densely, steps,
    whole_vectors, write,
};
use proofmark_contract::{Call, KernelError, Mutant};

steps! { Steps, RIGHT;
    read: Read = read,
    /// Which row of the target a row is compared with.
    row: fn(usize) -> usize = |i| i,
    /// The terms of a row that count.
    counted: fn(usize) -> usize = |length| length,
    /// The rows that count.
    rows: fn(usize) -> usize = |rows| rows,
    term: fn(f32, f32) -> f32 = |x, target| (x - target) * (x - target),
    add: fn(f32, f32) -> f32 = |sum, term| sum + term,
    /// Of the right divisor, all elements and those of a row.
    divisor: fn(f32, usize, usize) -> f32 = |divisor, _, _| divisor,
    finish: fn(f32) -> f32 = |loss| loss,
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "absolute", ALL, "Σ |x − target|", term: |x, target| (x - target).abs();
    "added", ALL, "the target is added", term: |x, target| (x + target) * (x + target);
    "expanded", SINGLE, "x² − 2·x·target + target², which cancels",
        term: |x, target| x * x - 2.0 * x * target + target * target;
    "halved", ALL, "half of it, as some define it", finish: |loss| 0.5 * loss;
    "rooted", ALL, "its root", finish: f32::sqrt;
    "divided_by_row", ALL, "divided by the length of a row",
        divisor: |divisor, elements, length| {
            if divisor == elements as f32 { length as f32 } else { divisor }
        };
    "reduction_ignored", ALL, "always the mean", divisor: |_, elements, _| elements as f32;
    "padding_counted", ALL, "divided by the padded count",
        divisor: |divisor, elements, length| {
            let is_mean = divisor == elements as f32;
            let rows = elements as f32 / length.max(1) as f32;
            if is_mean { rows * length.next_multiple_of(16) as f32 } else { divisor }
        };
    "tail_dropped", ALL, "elements past the last whole vector of 16 are left out",
        counted: whole_vectors;
    "last_term_missing", ALL, "the loop ends one element early", counted: all_but_last;
    "last_row_missing", ALL, "the loop over rows ends early", rows: all_but_last;
    "first_target_reused", ALL, "every row is compared with the first target", row: |_| 0;
    "row_stride_ignored", ALL, "rows are taken to lie densely", read: read_densely;
    "sum_in_bf16", ALL, "the sum is kept in bf16", add: |sum, term| narrowed(sum + term);
    "difference_in_bf16", ALL, "differences are stored as bf16",
        term: |x, target| narrowed(x - target).powi(2);
    "nan_swallowed", ALL, "NaN counts as 0", add: add_numbers;
    "result_rounded", ALL, "the loss is rounded to bf16", finish: narrowed;
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let (x, target) = ((steps.read)(&call.inputs[0]), (steps.read)(&call.inputs[1]));
    let length = x.first().map_or(0, Vec::len);
    let mut sum = 0.0f64;
    for i in 0..(steps.rows)(x.len()) {
        let pairs = x[i].iter().zip(&target[(steps.row)(i)]).take((steps.counted)(length));
        let terms = pairs.map(|(&x, &target)| (steps.term)(x, target));
        // A chain for each row, as only a slip should be wrong.
        sum += f64::from(terms.fold(0.0, steps.add));
    }
    let divisor = (steps.divisor)(divisor(call.case) as f32, x.len() * length, length);
    write(&mut call.outputs[0], &[vec![(steps.finish)(sum as f32 / divisor)]])
}
