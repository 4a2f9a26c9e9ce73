//! Wrong products with 8-bit weights that the gate must refuse.

use super::definition::Problem;
use crate::flawed::mutants;
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::bf16;
use proofmark_terms::DType;

/// The right computation in steps; each mutant gets one of them wrong.
trait Slip {
    /// Which scale a term has.
    fn scale_at(problem: &Problem, column: usize, p: usize) -> usize {
        column * problem.k.div_ceil(problem.group) + p / problem.group
    }

    fn weight(code: f32, scale: f32) -> f32 {
        code * scale
    }

    fn activation(x: f32) -> f32 {
        x
    }

    fn terms(problem: &Problem) -> usize {
        problem.k
    }

    fn add(sum: f32, term: f32) -> f32 {
        sum + term
    }

    /// The rows of x and of weights that element `i`, `j` is made of.
    fn place(_problem: &Problem, i: usize, j: usize) -> (usize, usize) {
        (i, j)
    }

    /// Spoils the result, given what the memory held before.
    fn spoil(_problem: &Problem, _y: &mut [f64], _before: &[f64]) {}
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let Problem { m, n, k, .. } = problem;
    let [x, codes, scales] = [0, 1, 2].map(|operand| call.inputs[operand].to_f64());
    let mut y = Vec::with_capacity(m * n);
    for i in 0..m {
        for j in 0..n {
            let (row, column) = M::place(&problem, i, j);
            let mut sum = 0.0;
            for p in 0..M::terms(&problem) {
                let scale = scales[M::scale_at(&problem, column, p) % scales.len()] as f32;
                let weight = M::weight(codes[column * k + p] as f32, scale);
                sum = M::add(sum, M::activation(x[row * k + p] as f32) * weight);
            }
            y.push(f64::from(sum));
        }
    }
    let before = call.outputs[0].to_f64();
    M::spoil(&problem, &mut y, &before);
    call.outputs[0].from_f64(&y);
    Ok(())
}

struct NextScale;
impl Slip for NextScale {
    fn scale_at(problem: &Problem, column: usize, p: usize) -> usize {
        column * problem.k.div_ceil(problem.group) + p / problem.group + 1
    }
}

struct FirstScale;
impl Slip for FirstScale {
    fn scale_at(problem: &Problem, column: usize, _p: usize) -> usize {
        column * problem.k.div_ceil(problem.group)
    }
}

struct ShortGroupUncounted;
impl Slip for ShortGroupUncounted {
    fn scale_at(problem: &Problem, column: usize, p: usize) -> usize {
        column * (problem.k / problem.group).max(1) + p / problem.group
    }
}

struct GroupFixed;
impl Slip for GroupFixed {
    fn scale_at(problem: &Problem, column: usize, p: usize) -> usize {
        let groups = problem.k.div_ceil(problem.group);
        column * groups + (p / 32).min(groups.saturating_sub(1))
    }
}

struct ScaleRounded;
impl Slip for ScaleRounded {
    fn weight(code: f32, scale: f32) -> f32 {
        code * bf16::from_f32(scale).to_f32()
    }
}

struct WeightRounded;
impl Slip for WeightRounded {
    fn weight(code: f32, scale: f32) -> f32 {
        bf16::from_f32(code * scale).to_f32()
    }
}

struct LeastCodeClamped;
impl Slip for LeastCodeClamped {
    fn weight(code: f32, scale: f32) -> f32 {
        code.max(-127.0) * scale
    }
}

struct CodesUnsigned;
impl Slip for CodesUnsigned {
    fn weight(code: f32, scale: f32) -> f32 {
        (if code < 0.0 { code + 256.0 } else { code }) * scale
    }
}

struct ActivationsRounded;
impl Slip for ActivationsRounded {
    fn activation(x: f32) -> f32 {
        bf16::from_f32(x).to_f32()
    }
}

struct TailDropped;
impl Slip for TailDropped {
    fn terms(problem: &Problem) -> usize {
        problem.k / 16 * 16
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

struct NanSwallowed;
impl Slip for NanSwallowed {
    fn add(sum: f32, term: f32) -> f32 {
        if term.is_nan() { sum } else { sum + term }
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
    fn spoil(_problem: &Problem, y: &mut [f64], before: &[f64]) {
        if let (Some(last), Some(&held)) = (y.last_mut(), before.last()) {
            *last = held;
        }
    }
}

mutants! {
    all &[DType::F32];
    NextScale "next_scale": "each group gets its neighbour's scale";
    FirstScale "first_scale": "every group of a row gets the first one's scale";
    ShortGroupUncounted "short_group_uncounted": "a short last group has no place among the scales";
    GroupFixed "group_fixed": "groups are always of 32 terms";
    ScaleRounded "scale_rounded": "scales lose bits";
    WeightRounded "weight_rounded": "decoded weights are rounded to bf16";
    LeastCodeClamped "least_code_clamped": "−128 counts as −127";
    CodesUnsigned "codes_unsigned": "codes are taken for unsigned";
    ActivationsRounded "activations_rounded": "x is rounded to bf16";
    TailDropped "tail_dropped": "only whole vectors of 16 terms count";
    LastTermDropped "last_term_dropped": "the last term is left out";
    Bf16Sums "bf16_sums": "sums are kept in bf16";
    NanSwallowed "nan_swallowed": "terms that are NaN are left out";
    ColumnsSwapped "columns_swapped": "neighbouring columns change places";
    LastRowStale "last_row_stale": "the last row repeats the one before";
    LastUnwritten "last_unwritten": "the last element stays as it was";
}
