//! Wrong softmaxes that the gate must refuse.

use super::definition::Problem;
use crate::flawed::{
    ALL, FINE, Read, WIDE, all_but_last, estimate, exp_by_bits, largest, mutants, narrowed, read,
    read_as, read_densely, stale, steps, sum_in_bf16, whole_vectors, write,
};
use proofmark_contract::{Call, KernelError, Mutant};

steps! { Steps, RIGHT;
    read: Read = read,
    /// The row that row `i` is computed from, of all rows.
    source: fn(usize, usize) -> usize = |i, _| i,
    /// How many columns of row `i` are seen.
    width: fn(&Problem, usize) -> usize = Problem::width,
    /// What a hidden element counts as.
    hidden: f32 = f32::NEG_INFINITY,
    /// The result of a row, given the first one too.
    row: fn(&Steps, &[f32], &[f32]) -> Vec<f32> = row,
    max: fn(&[f32]) -> f32 = largest,
    /// Of an element and the maximum.
    shift: fn(f32, f32) -> f32 = |x, max| x - max,
    exp: fn(f32) -> f32 = f32::exp,
    /// Of exponentials and the maximum.
    sum: fn(&[f32], f32) -> f32 = |e, _| e.iter().sum(),
    /// Of an exponential and the sum.
    result: fn(f32, f32) -> f32 = |e, sum| e / sum,
    /// Elements of a row that are written.
    written: fn(usize) -> usize = |length| length,
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "max_not_subtracted", ALL, "exponentials overflow or vanish past 88", shift: |x, _| x;
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
    "exp_by_bits", ALL, "Schraudolph's exponential, off by up to 4 %", exp: exp_by_bits;
    "exp_of_degree_two", ALL, "a polynomial of degree 2 after the reduction",
        exp: |x| {
            let n = (x * std::f32::consts::LOG2_E).round();
            let r = x - n * std::f32::consts::LN_2;
            (1.0 + r + 0.5 * r * r) * n.exp2()
        };
    "exp_clamped", WIDE, "nothing is less than exp(-20)",
        exp: |x| if x < -20.0 { (-20f32).exp() } else { x.exp() };
    "base_two", ALL, "powers of 2 instead of e", exp: f32::exp2;
    "temperature", ALL, "differences are divided by 1.001", exp: |x| (x / 1.001).exp();
    "log_softmax", ALL, "the logarithm of the result", result: |e, sum| (e / sum).ln();
    "reciprocal_estimate", ALL, "one over the sum has 12 bits",
        result: |e, sum| e * estimate(1.0 / sum);
    "subnormals_flushed", WIDE, "subnormal results become 0",
        result: |e, sum| if e / sum < f32::MIN_POSITIVE { 0.0 } else { e / sum };
    "exponentials_rounded_early", ALL, "they are kept in bf16", result: |e, sum| narrowed(e) / sum;
    "result_truncated", ALL, "results are cut to bf16, not rounded",
        result: |e, sum| f32::from_bits((e / sum).to_bits() & 0xffff_0000);
    "input_rounded_to_bf16", FINE, "x loses bits first", read: |x| read_as(x, narrowed);
    "nan_swallowed", ALL, "NaN counts as -infinity",
        read: |x| read_as(x, |x| if x.is_nan() { f32::NEG_INFINITY } else { x });
    "masked_row_zeroed", ALL, "a row of -infinity becomes 0, not NaN",
        row: |_, x, _| {
            let max = largest(x);
            let max = if max == f32::NEG_INFINITY { 0.0 } else { max };
            let e: Vec<f32> = x.iter().map(|x| (x - max).exp()).collect();
            let sum: f32 = e.iter().sum();
            e.iter().map(|e| if sum == 0.0 { 0.0 } else { e / sum }).collect()
        };
    "first_rows_sum", ALL, "every row is divided by the first row's sum",
        row: |_, x, first_row| {
            let (max, first_max) = (largest(x), largest(first_row));
            let sum: f32 = first_row.iter().map(|x| (x - first_max).exp()).sum();
            x.iter().map(|x| (x - max).exp() / sum).collect()
        };
    "last_row_stale", ALL, "the last row repeats the one before", source: stale;
    "last_element_unwritten", ALL, "the last element of a row stays", written: all_but_last;
    "row_stride_ignored", ALL, "rows of x are taken to lie densely", read: read_densely;
    "mask_ignored", ALL, "the causal mask is not applied", width: |problem, _| problem.length;
    "mask_of_top_left", ALL, "row i sees columns 0 to i, however long rows are",
        width: |problem, i| problem.causal.map_or(problem.length, |rows| i % rows + 1);
    "mask_hides_diagonal", ALL, "the last column seen is hidden too",
        width: |problem, i| match problem.causal {
            Some(_) => all_but_last(problem.width(i)),
            None => problem.length,
        };
    "mask_counts_on_over_batch", ALL, "only the first problem is masked",
        width: |problem, i| match problem.causal {
            Some(rows) => (problem.length + i + 1).saturating_sub(rows),
            None => problem.length,
        };
    "masked_as_zero", ALL, "hidden elements count as 0, not as -infinity", hidden: 0.0;
};

fn row(steps: &Steps, x: &[f32], _first_row: &[f32]) -> Vec<f32> {
    let max = (steps.max)(x);
    let e: Vec<f32> = x.iter().map(|&x| (steps.exp)((steps.shift)(x, max))).collect();
    let sum = (steps.sum)(&e, max);
    e.iter().map(|&e| (steps.result)(e, sum)).collect()
}

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let source = if problem.is_in_place { &call.outputs[0] } else { &call.inputs[0] };
    let mut x = (steps.read)(source);
    for (i, row) in x.iter_mut().enumerate() {
        row.iter_mut().skip((steps.width)(&problem, i)).for_each(|x| *x = steps.hidden);
    }
    let row = |i: usize| {
        let mut y = (steps.row)(steps, &x[(steps.source)(i, x.len())], &x[0]);
        y.truncate((steps.written)(problem.length));
        y
    };
    let y: Vec<Vec<f32>> = (0..x.len()).map(row).collect();
    write(&mut call.outputs[0], &y)
}
