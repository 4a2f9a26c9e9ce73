//! Wrong block-scaled fp8 products that the gate must refuse.

use super::definition::Problem;
use crate::flawed::mutants;
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{F8E4m3, Overflow, bf16};
use proofmark_terms::DType;

/// The right computation in steps; each mutant gets one of them wrong.
trait Slip {
    /// Which scale of b a term has.
    fn right_scale(problem: &Problem, column: usize, p: usize) -> usize {
        column / problem.block * problem.across() + p / problem.block
    }

    /// Which scale of a a term has.
    fn left_scale(problem: &Problem, row: usize, p: usize) -> usize {
        row * problem.across() + p / problem.block
    }

    fn code(value: f32) -> f32 {
        value
    }

    fn step(range: f32) -> (f32, f32) {
        let inverse = 448.0 / range;
        if !range.is_finite() {
            (f32::NAN, 0.0)
        } else if inverse.is_infinite() {
            (0.0, 0.0)
        } else {
            (range / 448.0, inverse)
        }
    }

    fn quantised(scaled: f32) -> f32 {
        F8E4m3::from_f32(scaled, Overflow::Saturate).to_f32()
    }

    fn scale(scale: f32) -> f32 {
        scale
    }

    fn terms(problem: &Problem) -> usize {
        problem.k
    }

    fn add(sum: f32, term: f32) -> f32 {
        sum + term
    }

    fn place(_problem: &Problem, i: usize, j: usize) -> (usize, usize) {
        (i, j)
    }

    /// Spoils the result, given what the memory held before.
    fn spoil(_problem: &Problem, _c: &mut [f64], _before: &[f64]) {}
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let Problem { m, n, k, .. } = problem;
    let (left, left_scales) = left::<M>(&problem, call);
    let right = call.inputs[problem.right()].to_f64();
    let scales = call.inputs[problem.right() + 1].to_f64();
    let mut c = Vec::with_capacity(m * n);
    for i in 0..m {
        for j in 0..n {
            let (row, column) = M::place(&problem, i, j);
            let mut sum = 0.0;
            for p in 0..M::terms(&problem) {
                let b = scales[M::right_scale(&problem, column, p) % scales.len()] as f32;
                let a = left_scales[M::left_scale(&problem, row, p) % left_scales.len()];
                let product = left[row * k + p] * M::code(right[column * k + p] as f32);
                sum = M::add(sum, product * (M::scale(a) * M::scale(b)));
            }
            c.push(f64::from(sum));
        }
    }
    let before = call.outputs[0].to_f64();
    M::spoil(&problem, &mut c, &before);
    call.outputs[0].from_f64(&c);
    Ok(())
}

/// Codes and scales of the left operand.
fn left<M: Slip>(problem: &Problem, call: &Call<'_>) -> (Vec<f32>, Vec<f32>) {
    let a: Vec<f32> = call.inputs[0].to_f64().into_iter().map(|a| a as f32).collect();
    if !problem.is_quantised {
        let scales = call.inputs[1].to_f64();
        let codes = a.into_iter().map(M::code).collect();
        return (codes, scales.into_iter().map(|scale| scale as f32).collect());
    }
    let (mut codes, mut scales) = (Vec::new(), Vec::new());
    for row in a.chunks(problem.k.max(1)) {
        for block in row.chunks(problem.block) {
            let larger = |most: f32, a: &f32| if a.is_nan() { *a } else { most.max(a.abs()) };
            let is_broken = block.iter().any(|a| !a.is_finite());
            let range = if is_broken { f32::NAN } else { block.iter().fold(0.0, larger) };
            let (scale, inverse) = M::step(range);
            scales.push(scale);
            let code = |a: &f32| if inverse == 0.0 { 0.0 } else { M::quantised(a * inverse) };
            codes.extend(block.iter().map(code));
        }
    }
    (codes, scales)
}

struct NextColumnScale;
impl Slip for NextColumnScale {
    fn right_scale(problem: &Problem, column: usize, p: usize) -> usize {
        (column / problem.block + 1) * problem.across() + p / problem.block
    }
}

struct NextTermScale;
impl Slip for NextTermScale {
    fn right_scale(problem: &Problem, column: usize, p: usize) -> usize {
        column / problem.block * problem.across() + p / problem.block + 1
    }
}

struct FirstTermScale;
impl Slip for FirstTermScale {
    fn right_scale(problem: &Problem, column: usize, _p: usize) -> usize {
        column / problem.block * problem.across()
    }
}

struct FirstColumnScale;
impl Slip for FirstColumnScale {
    fn right_scale(problem: &Problem, _column: usize, p: usize) -> usize {
        p / problem.block
    }
}

struct BlockFixed;
impl Slip for BlockFixed {
    fn right_scale(problem: &Problem, column: usize, p: usize) -> usize {
        let across = problem.across();
        column / problem.block * across + (p / 128).min(across.saturating_sub(1))
    }
}

struct FirstRowScale;
impl Slip for FirstRowScale {
    fn left_scale(problem: &Problem, _row: usize, p: usize) -> usize {
        p / problem.block
    }
}

struct ScalesRounded;
impl Slip for ScalesRounded {
    fn scale(scale: f32) -> f32 {
        bf16::from_f32(scale).to_f32()
    }
}

struct NanAsNumber;
impl Slip for NanAsNumber {
    fn code(value: f32) -> f32 {
        if value.is_nan() { 480.0 } else { value }
    }
}

struct SubnormalsFlushed;
impl Slip for SubnormalsFlushed {
    fn code(value: f32) -> f32 {
        if value.abs() < 1.0 / 64.0 { 0.0 } else { value }
    }
}

struct StepsTooFew;
impl Slip for StepsTooFew {
    fn step(range: f32) -> (f32, f32) {
        let inverse = 240.0 / range;
        match range.is_finite() && inverse.is_finite() {
            true => (range / 240.0, inverse),
            false => (if range.is_finite() { 0.0 } else { f32::NAN }, 0.0),
        }
    }
}

struct NotQuantised;
impl Slip for NotQuantised {
    fn quantised(scaled: f32) -> f32 {
        scaled
    }
}

struct TailDropped;
impl Slip for TailDropped {
    fn terms(problem: &Problem) -> usize {
        problem.k / 32 * 32
    }
}

struct LastTermDropped;
impl Slip for LastTermDropped {
    fn terms(problem: &Problem) -> usize {
        problem.k.saturating_sub(1)
    }
}

struct Bf16Sums;
impl Slip for Bf16Sums {
    fn add(sum: f32, term: f32) -> f32 {
        bf16::from_f32(sum + term).to_f32()
    }
}

struct ColumnsSwapped;
impl Slip for ColumnsSwapped {
    fn place(problem: &Problem, i: usize, j: usize) -> (usize, usize) {
        (i, if j ^ 1 < problem.n { j ^ 1 } else { j })
    }
}

struct LastRowStale;
impl Slip for LastRowStale {
    fn place(problem: &Problem, i: usize, j: usize) -> (usize, usize) {
        (if i > 0 && i + 1 == problem.m { i - 1 } else { i }, j)
    }
}

struct LastUnwritten;
impl Slip for LastUnwritten {
    fn spoil(_problem: &Problem, c: &mut [f64], before: &[f64]) {
        if let (Some(last), Some(&held)) = (c.last_mut(), before.last()) {
            *last = held;
        }
    }
}

mutants! {
    all &[DType::F32, DType::Bf16];
    NextColumnScale "next_column_scale": "columns get the scales of the next block of columns";
    NextTermScale "next_term_scale": "terms get the scale of the next block of terms";
    FirstTermScale "first_term_scale": "all terms get the scale of the first block";
    FirstColumnScale "first_column_scale": "all columns get the scales of the first block";
    BlockFixed "block_fixed": "blocks are always of 128 terms";
    FirstRowScale "first_row_scale": "all rows of a get the scales of the first";
    ScalesRounded "scales_rounded": "scales lose bits";
    NanAsNumber "nan_as_number": "NaN is decoded as the number that its bits would be";
    SubnormalsFlushed "subnormals_flushed": "codes below the normal numbers count as 0";
    StepsTooFew "steps_too_few": "activations are scaled to 240, the largest of another e4m3";
    NotQuantised "not_quantised": "activations are scaled but not rounded to codes";
    TailDropped "tail_dropped": "only whole tiles of 32 terms count";
    LastTermDropped "last_term_dropped": "the last term is left out";
    Bf16Sums "bf16_sums": "sums are kept in bf16";
    ColumnsSwapped "columns_swapped": "neighbouring columns change places";
    LastRowStale "last_row_stale": "the last row repeats the one before";
    LastUnwritten "last_unwritten": "the last element stays as it was";
}
