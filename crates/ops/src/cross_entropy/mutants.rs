//! Wrong cross entropies that the gate must refuse.

use super::definition::Problem;
use crate::flawed::{
    ALL, FINE, Read, all_but_last, largest, mutants, narrowed, read, read_as, read_densely, steps,
    whole_vectors, write,
};
use proofmark_contract::{Call, KernelError, Mutant};

steps! { Steps, RIGHT;
    read: Read = read,
    max: fn(&[f32]) -> f32 = largest,
    /// How many logits the sum is made of.
    summed: fn(usize) -> usize = |length| length,
    exp: fn(f32) -> f32 = f32::exp,
    log: fn(f32) -> f32 = f32::ln,
    /// Where the target's logit is read.
    target: fn(usize, usize) -> usize = |target, _| target,
    smoothing: fn(f32) -> f32 = |smoothing| smoothing,
    /// The mean of all logits, given the target's place.
    others: fn(&[f32], usize) -> f32 = |x, _| x.iter().sum::<f32>() / x.len() as f32,
    is_counted: fn(i64, i64) -> bool = |target, ignore| target != ignore,
    divisor: fn(usize, usize) -> f32 = |counted, _| counted as f32,
    /// The loss of a row that does not count.
    uncounted: f32 = 0.0,
    /// Losses that are written or enter the mean.
    rows: fn(usize) -> usize = |rows| rows,
    finish: fn(f32) -> f32 = |loss| loss,
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "not_shifted", ALL, "exponentials are of the logits themselves", max: |_| 0.0;
    "tail_dropped", ALL, "the sum lacks what follows the last whole vector", summed: whole_vectors;
    "last_logit_missing", ALL, "the sum lacks the last logit", summed: all_but_last;
    "exp_estimate", ALL, "exponentials have 8 bits", exp: |x| narrowed(x.exp());
    "binary_logarithm", ALL, "the logarithm is to base 2", log: f32::log2;
    "logarithm_forgotten", ALL, "the largest logit stands for the sum", log: |_| 0.0;
    "target_off_by_one", ALL, "targets count from one",
        target: |target, length| (target + 1) % length;
    "target_always_first", ALL, "every target is the first", target: |_, _| 0;
    "smoothing_ignored", ALL, "the loss is not smoothed", smoothing: |_| 0.0;
    "smoothed_over_others", ALL, "the target is left out of the mean",
        others: |x, target| (x.iter().sum::<f32>() - x[target]) / (x.len() as f32 - 1.0);
    "ignore_fixed", ALL, "only -100 is ignored", is_counted: |target, _| target != -100;
    "divided_by_rows", ALL, "rows that do not count are counted", divisor: |_, rows| rows as f32;
    "not_divided", ALL, "the sum of the losses", divisor: |_, _| 1.0;
    "uncounted_is_nan", ALL, "rows that do not count have loss NaN", uncounted: f32::NAN;
    "last_row_missing", ALL, "the loop over rows ends early", rows: all_but_last;
    "negated", ALL, "the logarithm of the likelihood itself", finish: |loss| -loss;
    "clamped", ALL, "1e-7 is added to the probability", finish: |loss| -((-loss).exp() + 1e-7).ln();
    "loss_in_bf16", ALL, "losses are rounded to bf16", finish: narrowed;
    "row_stride_ignored", ALL, "rows of logits are taken to lie densely", read: read_densely;
    "input_rounded_to_bf16", FINE, "logits lose bits", read: |x| read_as(x, narrowed);
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let x = (steps.read)(&call.inputs[0]);
    let targets: Vec<i64> = call.inputs[1].to_f64().iter().map(|&target| target as i64).collect();
    let smoothing = (steps.smoothing)(problem.smoothing as f32);
    let loss = |i: usize| {
        let (x, target) = (&x[i], targets[i]);
        if !(steps.is_counted)(target, problem.ignore) {
            return steps.uncounted;
        }
        let target = usize::try_from(target).unwrap_or(0);
        let max = (steps.max)(x);
        let summed = x[..(steps.summed)(x.len())].iter();
        let sum: f64 = summed.map(|x| f64::from((steps.exp)(x - max))).sum();
        let own = max - x[(steps.target)(target, x.len())];
        let mut loss = (steps.log)(sum as f32) + (1.0 - smoothing) * own;
        if smoothing != 0.0 {
            loss += smoothing * (max - (steps.others)(x, target));
        }
        (steps.finish)(loss)
    };
    let losses: Vec<f32> = (0..(steps.rows)(problem.rows)).map(loss).collect();
    if !problem.is_mean {
        return write(&mut call.outputs[0], &[losses]);
    }
    let is_counted = |target: &&i64| (steps.is_counted)(**target, problem.ignore);
    let counted = targets.iter().filter(is_counted).count();
    let sum: f64 = losses.iter().map(|&loss| f64::from(loss)).sum();
    let mean = sum as f32 / (steps.divisor)(counted, problem.rows);
    write(&mut call.outputs[0], &[vec![mean]])
}
