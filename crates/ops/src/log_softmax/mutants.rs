//! Wrong logarithms of softmax that the gate must refuse.

use crate::blocks::row::Shape;
use crate::flawed::{
    ALL, FINE, Read, all_but_last, exp_by_bits, largest, mutants, narrowed, read, read_as,
    read_densely, stale, steps, sum_in_bf16, whole_vectors, write,
};
use proofmark_contract::{Call, KernelError, Mutant};

steps! { Steps, RIGHT;
    read: Read = read,
    /// The row that row `i` is computed from, of all rows.
    source: fn(usize, usize) -> usize = |i, _| i,
    /// The row whose exponentials row `i` is divided by.
    summed: fn(usize) -> usize = |i| i,
    max: fn(&[f32]) -> f32 = largest,
    exp: fn(f32) -> f32 = f32::exp,
    /// Of exponentials and the maximum.
    sum: fn(&[f32], f32) -> f32 = |e, _| e.iter().sum(),
    /// Of an element, the maximum and the sum.
    result: fn(f32, f32, f32) -> f32 = |x, max, sum| x - max - sum.ln(),
    /// Elements of a row that are written.
    written: fn(usize) -> usize = |length| length,
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "max_not_subtracted", ALL, "exponentials overflow or vanish past 88", max: |_| 0.0;
    "max_of_first_16", ALL, "the maximum is that of the first vector",
        max: |x| largest(&x[..x.len().min(16)]);
    "max_at_least_zero", ALL, "the maximum starts at 0, not at -infinity",
        max: |x| x.iter().copied().fold(0.0, f32::max);
    "tail_dropped_from_sum", ALL, "only whole vectors of 16 are summed",
        sum: |e, _| e[..whole_vectors(e.len())].iter().sum();
    "padding_counted", ALL, "the sum counts the tail's padding as zeros of x",
        sum: |e, max| {
            let padding = e.len().next_multiple_of(16) - e.len();
            e.iter().sum::<f32>() + padding as f32 * (-max).exp()
        };
    "last_element_twice", ALL, "the last exponential is added twice",
        sum: |e, _| e.iter().chain(e.last()).sum();
    "bf16_accumulate", ALL, "the sum is kept in bf16", sum: |e, _| sum_in_bf16(e.iter().copied());
    "base_two", ALL, "powers of 2 instead of e", exp: f32::exp2;
    "exp_by_bits", ALL, "Schraudolph's exponential, off by up to 4 %", exp: exp_by_bits;
    "logarithm_of_base_two", ALL, "the binary logarithm of the sum",
        result: |x, max, sum| x - max - sum.log2();
    "logarithm_of_quotient", ALL, "of a probability, which may vanish",
        result: |x, max, sum| ((x - max).exp() / sum).ln();
    "softmax", ALL, "no logarithm", result: |x, max, sum| (x - max).exp() / sum;
    "max_forgotten", ALL, "the maximum is subtracted in the sum only",
        result: |x, _, sum| x - sum.ln();
    "clamped", ALL, "nothing is less than -100",
        result: |x, max, sum| (x - max - sum.ln()).max(-100.0);
    "input_rounded_to_bf16", FINE, "x loses bits first", read: |x| read_as(x, narrowed);
    "nan_swallowed", ALL, "NaN counts as -infinity",
        read: |x| read_as(x, |x| if x.is_nan() { f32::NEG_INFINITY } else { x });
    "row_stride_ignored", ALL, "rows of x are taken to lie densely", read: read_densely;
    "first_rows_sum", ALL, "every row has the first row's sum", summed: |_| 0;
    "last_row_stale", ALL, "the last row repeats the one before", source: stale;
    "last_element_unwritten", ALL, "the last element of a row stays", written: all_but_last;
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let Shape { rows, length, .. } = Shape::of(call.case);
    let x = (steps.read)(&call.inputs[0]);
    let row = |i: usize| {
        let source = (steps.source)(i, rows);
        let of = &x[(steps.summed)(source)];
        let max = (steps.max)(of);
        let e: Vec<f32> = of.iter().map(|x| (steps.exp)(x - max)).collect();
        let sum = (steps.sum)(&e, max);
        let max = (steps.max)(&x[source]);
        let written = x[source][..(steps.written)(length)].iter();
        written.map(|&x| (steps.result)(x, max, sum)).collect()
    };
    let y: Vec<Vec<f32>> = (0..rows).map(row).collect();
    write(&mut call.outputs[0], &y)
}
