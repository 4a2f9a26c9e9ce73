//! Wrong block-scaled fp8 products that the gate must refuse.

use super::definition::Problem;
use crate::flawed::{WIDE, all_but_last, keep_last, mutants, narrowed, neighbour, stale, steps};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::{F8E4m3, Overflow};

steps! { Steps, RIGHT;
    /// Which scale of b a term has, by its column and its number.
    right_scale: fn(&Problem, usize, usize) -> usize = |of, column, p| {
        column / of.block * of.across() + p / of.block
    },
    /// Which scale of a a term has, by its row and its number.
    left_scale: fn(&Problem, usize, usize) -> usize = |of, row, p| row * of.across() + p / of.block,
    code: fn(f32) -> f32 = |value| value,
    /// Scale and inverse of a range.
    step: fn(f32) -> (f32, f32) = |range| step(range, 448.0),
    quantised: fn(f32) -> f32 = |scaled| F8E4m3::from_f32(scaled, Overflow::Saturate).to_f32(),
    scale: fn(f32) -> f32 = |scale| scale,
    terms: fn(usize) -> usize = |k| k,
    add: fn(f32, f32) -> f32 = |sum, term| sum + term,
    /// The rows of a and b that an element is made of.
    place: fn(&Problem, usize, usize) -> (usize, usize) = |_, i, j| (i, j),
    /// Spoils the result, given what the memory held before.
    spoil: fn(&mut [f64], &[f64]) = |_, _| {},
}

fn step(range: f32, largest: f32) -> (f32, f32) {
    let inverse = largest / range;
    match range.is_finite() && inverse.is_finite() {
        true => (range / largest, inverse),
        false => (if range.is_finite() { 0.0 } else { f32::NAN }, 0.0),
    }
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "next_column_scale", WIDE, "columns get the scales of the next block of columns",
        right_scale: |of, column, p| (column / of.block + 1) * of.across() + p / of.block;
    "next_term_scale", WIDE, "terms get the scale of the next block of terms",
        right_scale: |of, column, p| column / of.block * of.across() + p / of.block + 1;
    "first_term_scale", WIDE, "all terms get the scale of the first block",
        right_scale: |of, column, _| column / of.block * of.across();
    "first_column_scale", WIDE, "all columns get the scales of the first block",
        right_scale: |of, _, p| p / of.block;
    "block_fixed", WIDE, "blocks are always of 128 terms",
        right_scale: |of, column, p| {
            column / of.block * of.across() + (p / 128).min(all_but_last(of.across()))
        };
    "first_row_scale", WIDE, "all rows of a get the scales of the first",
        left_scale: |of, _, p| p / of.block;
    "scales_rounded", WIDE, "scales lose bits", scale: narrowed;
    "nan_as_number", WIDE, "NaN is decoded as the number that its bits would be",
        code: |value| if value.is_nan() { 480.0 } else { value };
    "subnormals_flushed", WIDE, "codes below the normal numbers count as 0",
        code: |value| if value.abs() < 1.0 / 64.0 { 0.0 } else { value };
    "steps_too_few", WIDE, "activations are scaled to 240, the largest of another e4m3",
        step: |range| step(range, 240.0);
    "not_quantised", WIDE, "activations are scaled but not rounded to codes",
        quantised: |scaled| scaled;
    "tail_dropped", WIDE, "only whole tiles of 32 terms count", terms: |k| k / 32 * 32;
    "last_term_dropped", WIDE, "the last term is left out", terms: all_but_last;
    "bf16_sums", WIDE, "sums are kept in bf16", add: |sum, term| narrowed(sum + term);
    "columns_swapped", WIDE, "neighbouring columns change places",
        place: |of, i, j| (i, neighbour(j, of.n));
    "last_row_stale", WIDE, "the last row repeats the one before",
        place: |of, i, j| (stale(i, of.m), j);
    "last_unwritten", WIDE, "the last element stays as it was", spoil: keep_last;
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let Problem { m, n, k, .. } = problem;
    let (left, left_scales) = left(steps, &problem, call);
    let right = call.inputs[problem.right()].to_f64();
    let scales = call.inputs[problem.right() + 1].to_f64();
    let mut c = Vec::with_capacity(m * n);
    for i in 0..m {
        for j in 0..n {
            let (row, column) = (steps.place)(&problem, i, j);
            let mut sum = 0.0;
            for p in 0..(steps.terms)(k) {
                let b = scales[(steps.right_scale)(&problem, column, p) % scales.len()] as f32;
                let a = left_scales[(steps.left_scale)(&problem, row, p) % left_scales.len()];
                let product = left[row * k + p] * (steps.code)(right[column * k + p] as f32);
                sum = (steps.add)(sum, product * ((steps.scale)(a) * (steps.scale)(b)));
            }
            c.push(f64::from(sum));
        }
    }
    (steps.spoil)(&mut c, &call.outputs[0].to_f64());
    call.outputs[0].from_f64(&c);
    Ok(())
}

/// Codes and scales of the left operand.
fn left(steps: &Steps, problem: &Problem, call: &Call<'_>) -> (Vec<f32>, Vec<f32>) {
    let a: Vec<f32> = call.inputs[0].to_f64().into_iter().map(|a| a as f32).collect();
    if !problem.is_quantised {
        let scales = call.inputs[1].to_f64();
        let codes = a.into_iter().map(steps.code).collect();
        return (codes, scales.into_iter().map(|scale| scale as f32).collect());
    }
    let (mut codes, mut scales) = (Vec::new(), Vec::new());
    for row in a.chunks(problem.k.max(1)) {
        for block in row.chunks(problem.block) {
            let larger = |most: f32, a: &f32| if a.is_nan() { *a } else { most.max(a.abs()) };
            let is_broken = block.iter().any(|a| !a.is_finite());
            let range = if is_broken { f32::NAN } else { block.iter().fold(0.0, larger) };
            let (scale, inverse) = (steps.step)(range);
            scales.push(scale);
            let code = |a: &f32| if inverse == 0.0 { 0.0 } else { (steps.quantised)(a * inverse) };
            codes.extend(block.iter().map(code));
        }
    }
    (codes, scales)
}
