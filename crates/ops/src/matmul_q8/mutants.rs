//! Wrong products with 8-bit weights that the gate must refuse.

use super::definition::Problem;
use crate::flawed::{
    SINGLE, add_numbers, all_but_last, keep_last, mutants, narrowed, neighbour, stale, steps,
    whole_vectors,
};
use proofmark_contract::{Call, KernelError, Mutant};

steps! { Steps, RIGHT;
    /// Which scale a term has, by its column and its number.
    scale_at: fn(&Problem, usize, usize) -> usize = |of, column, p| {
        column * groups(of) + p / of.group
    },
    /// Of a code and its scale.
    weight: fn(f32, f32) -> f32 = |code, scale| code * scale,
    activation: fn(f32) -> f32 = |x| x,
    terms: fn(usize) -> usize = |k| k,
    add: fn(f32, f32) -> f32 = |sum, term| sum + term,
    /// The rows of x and of weights that an element is made of.
    place: fn(&Problem, usize, usize) -> (usize, usize) = |_, i, j| (i, j),
    /// Spoils the result, given what the memory held before.
    spoil: fn(&mut [f64], &[f64]) = |_, _| {},
}

fn groups(problem: &Problem) -> usize {
    problem.k.div_ceil(problem.group)
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "next_scale", SINGLE, "each group gets its neighbour's scale",
        scale_at: |of, column, p| column * groups(of) + p / of.group + 1;
    "first_scale", SINGLE, "every group of a row gets the first one's scale",
        scale_at: |of, column, _| column * groups(of);
    "short_group_uncounted", SINGLE, "a short last group has no place among the scales",
        scale_at: |of, column, p| column * (of.k / of.group).max(1) + p / of.group;
    "group_fixed", SINGLE, "groups are always of 32 terms",
        scale_at: |of, column, p| column * groups(of) + (p / 32).min(all_but_last(groups(of)));
    "scale_rounded", SINGLE, "scales lose bits", weight: |code, scale| code * narrowed(scale);
    "weight_rounded", SINGLE, "decoded weights are rounded to bf16",
        weight: |code, scale| narrowed(code * scale);
    "least_code_clamped", SINGLE, "−128 counts as −127",
        weight: |code, scale| code.max(-127.0) * scale;
    "codes_unsigned", SINGLE, "codes are taken for unsigned",
        weight: |code, scale| (if code < 0.0 { code + 256.0 } else { code }) * scale;
    "activations_rounded", SINGLE, "x is rounded to bf16", activation: narrowed;
    "tail_dropped", SINGLE, "only whole vectors of 16 terms count", terms: whole_vectors;
    "last_term_dropped", SINGLE, "the last term is left out", terms: all_but_last;
    "bf16_sums", SINGLE, "sums are kept in bf16", add: |sum, term| narrowed(sum + term);
    "nan_swallowed", SINGLE, "terms that are NaN are left out", add: add_numbers;
    "columns_swapped", SINGLE, "neighbouring columns change places",
        place: |of, i, j| (i, neighbour(j, of.n));
    "last_row_stale", SINGLE, "the last row repeats the one before",
        place: |of, i, j| (stale(i, of.m), j);
    "last_unwritten", SINGLE, "the last element stays as it was", spoil: keep_last;
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let Problem { m, n, k, .. } = problem;
    let [x, codes, scales] = [0, 1, 2].map(|operand| call.inputs[operand].to_f64());
    let mut y = Vec::with_capacity(m * n);
    for i in 0..m {
        for j in 0..n {
            let (row, column) = (steps.place)(&problem, i, j);
            let mut sum = 0.0;
            for p in 0..(steps.terms)(k) {
                let scale = scales[(steps.scale_at)(&problem, column, p) % scales.len()] as f32;
                let weight = (steps.weight)(codes[column * k + p] as f32, scale);
                sum = (steps.add)(sum, (steps.activation)(x[row * k + p] as f32) * weight);
            }
            y.push(f64::from(sum));
        }
    }
    (steps.spoil)(&mut y, &call.outputs[0].to_f64());
    call.outputs[0].from_f64(&y);
    Ok(())
}
