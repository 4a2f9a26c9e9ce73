//! Wrong RMS normalisations that the gate must refuse.

use super::definition::Problem;
use crate::flawed::{
    ALL, FINE, NARROW, Read, all_but_last, estimate, mutants, nan_as_zero, narrowed, read, read_as,
    read_densely, stale, steps, sum_in_bf16, whole_vectors, write,
};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::round_to;
use proofmark_terms::DType;

steps! { Steps, RIGHT;
    read: Read = read,
    /// The row that row `i` is computed from, of all rows.
    source: fn(usize, usize) -> usize = |i, _| i,
    /// The row whose root row `i` is divided by.
    root_of: fn(usize) -> usize = |i| i,
    /// What is subtracted from a row.
    centre: fn(&[f32]) -> f32 = |_| 0.0,
    squares: fn(&[f32]) -> f32 = squares,
    /// Of the squares, the length and eps.
    inverse: fn(f32, f32, f32) -> f32 = |squares, n, eps| 1.0 / (squares / n + eps).sqrt(),
    weight: fn(&Problem, &[f32], usize) -> f32 = weight,
    /// Of an element, the inverse root and the weight.
    result: fn(f32, f32, f32, DType) -> f32 = |x, r, weight, _| x * r * weight,
    /// Elements of a row that are written.
    written: fn(usize) -> usize = |length| length,
}

fn squares(x: &[f32]) -> f32 {
    x.iter().map(|x| x * x).sum()
}

fn weight(problem: &Problem, w: &[f32], i: usize) -> f32 {
    if problem.is_gemma { 1.0 + w[i] } else { w[i] }
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "eps_ignored", ALL, "eps is not added",
        inverse: |squares, length, _| 1.0 / (squares / length).sqrt();
    "eps_outside_root", ALL, "eps is added to the root, not to the mean",
        inverse: |squares, length, eps| 1.0 / ((squares / length).sqrt() + eps);
    "eps_fixed", ALL, "eps is always the default",
        inverse: |squares, length, _| 1.0 / (squares / length + 1e-6).sqrt();
    "eps_on_sum", ALL, "eps is added before the division by the length",
        inverse: |squares, length, eps| 1.0 / ((squares + eps) / length).sqrt();
    "sum_for_mean", ALL, "the sum of squares is not divided by the length",
        inverse: |squares, _, eps| 1.0 / (squares + eps).sqrt();
    "divisor_off_by_one", ALL, "the sum is divided by the length minus one",
        inverse: |squares, length, eps| 1.0 / (squares / (length - 1.0) + eps).sqrt();
    "root_estimate_unrefined", ALL, "the inverse root has 12 bits",
        inverse: |squares, length, eps| estimate(1.0 / (squares / length + eps).sqrt());
    "root_estimate_one_step", ALL, "a bit trick and one step of Newton's",
        inverse: |squares, length, eps| {
            let mean = squares / length + eps;
            let guess = f32::from_bits(0x5f37_59df_u32.wrapping_sub(mean.to_bits() >> 1));
            guess * (1.5 - 0.5 * mean * guess * guess)
        };
    "tail_dropped_from_sum", ALL, "only whole vectors of 16 are summed",
        squares: |x| squares(&x[..whole_vectors(x.len())]);
    "last_element_twice", ALL, "the last square is added twice",
        squares: |x| x.iter().chain(x.last()).map(|x| x * x).sum();
    "bf16_accumulate", ALL, "the sum is kept in bf16",
        squares: |x| sum_in_bf16(x.iter().map(|x| x * x));
    "centred", ALL, "the mean is subtracted, as in layer normalisation",
        centre: |x| x.iter().sum::<f32>() / x.len() as f32;
    "last_element_unwritten", ALL, "the last element of a row stays", written: all_but_last;
    "last_row_stale", ALL, "the last row repeats the one before", source: stale;
    "first_rows_root", ALL, "every row is divided by the first row's root", root_of: |_| 0;
    "row_stride_ignored", ALL, "rows of x are taken to lie densely", read: read_densely;
    "weight_off_by_one", ALL, "each element gets its neighbour's weight",
        weight: |problem, w, i| weight(problem, w, (i + 1) % w.len());
    "weight_unsigned", ALL, "the weight's sign is lost",
        weight: |problem, w, i| weight(problem, w, i).abs();
    "gemma_as_llama", ALL, "the variant is ignored", weight: |_, w, i| w[i];
    "input_rounded_to_bf16", FINE, "x loses bits first", read: |x| read_as(x, narrowed);
    "nan_swallowed", ALL, "NaN counts as 0", read: |x| read_as(x, nan_as_zero);
    "subnormals_flushed", ALL, "subnormal elements count as 0",
        read: |x| {
            let least = 2f32.powi(x.dtype.min_exponent());
            read_as(x, |x| if x.abs() < least { 0.0 } else { x })
        };
    "result_scaled", ALL, "results are 0.1 % too large",
        result: |x, r, weight, _| x * r * weight * 1.001;
    "rounded_before_weight", NARROW, "x·r is rounded before it is weighted",
        result: |x, r, weight, dtype| round_to(dtype, f64::from(x * r)) as f32 * weight;
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let w = read(&call.inputs[1]).remove(0);
    let mut x = (steps.read)(&call.inputs[0]);
    for row in &mut x {
        let centre = (steps.centre)(row);
        row.iter_mut().for_each(|x| *x -= centre);
    }
    let row = |i: usize| {
        let source = (steps.source)(i, x.len());
        let (x, of) = (&x[source], &x[(steps.root_of)(source)]);
        let r = (steps.inverse)((steps.squares)(of), of.len() as f32, problem.eps as f32);
        let element =
            |j: usize| (steps.result)(x[j], r, (steps.weight)(&problem, &w, j), call.case.dtype);
        (0..(steps.written)(x.len())).map(element).collect()
    };
    let y: Vec<Vec<f32>> = (0..x.len()).map(row).collect();
    write(&mut call.outputs[0], &y)
}
