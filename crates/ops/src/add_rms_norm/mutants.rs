//! Wrong normalised sums that the gate must refuse.

use crate::flawed::{self, mutants};
use crate::rms_norm::definition::Problem;
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Tensor, bf16, round_to};
use proofmark_terms::DType;

/// The right computation in steps; each mutant gets one of them wrong.
trait Slip {
    fn residual(tensor: &Tensor) -> Vec<Vec<f32>> {
        flawed::read(tensor)
    }

    /// The row of residual that is added to row `i`.
    fn source(i: usize, _rows: usize) -> usize {
        i
    }

    fn add(x: f32, residual: f32) -> f32 {
        x + residual
    }

    /// What is normalised: the sum as it was rounded.
    fn normalised(_x: &[f32], sum: &[f32], dtype: DType) -> Vec<f32> {
        sum.iter().map(|&sum| round_to(dtype, f64::from(sum)) as f32).collect()
    }

    fn squares(x: &[f32]) -> f32 {
        x.iter().map(|x| x * x).sum()
    }

    fn inverse(squares: f32, length: f32, eps: f32) -> f32 {
        1.0 / (squares / length + eps).sqrt()
    }

    fn weight(problem: &Problem, w: &[f32], i: usize) -> f32 {
        if problem.is_gemma { 1.0 + w[i] } else { w[i] }
    }

    /// What is written as the sum.
    fn written(sum: Vec<f32>, _x: &[f32], _y: &[f32]) -> Vec<f32> {
        sum
    }
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let (x, residual) = (flawed::read(&call.inputs[0]), M::residual(&call.inputs[1]));
    let w = flawed::read(&call.inputs[2]).remove(0);
    let (mut sums, mut results) = (Vec::new(), Vec::new());
    for (i, x) in x.iter().enumerate() {
        let residual = &residual[M::source(i, problem.rows)];
        let sum: Vec<f32> = x.iter().zip(residual).map(|(&x, &r)| M::add(x, r)).collect();
        let row = M::normalised(x, &sum, call.case.dtype);
        let r = M::inverse(M::squares(&row), row.len() as f32, problem.eps as f32);
        let of = |j: usize| row[j] * r * M::weight(&problem, &w, j);
        let y: Vec<f32> = (0..row.len()).map(of).collect();
        sums.push(M::written(sum, x, &y));
        results.push(y);
    }
    flawed::write(&mut call.outputs[0], &sums);
    flawed::write(&mut call.outputs[1], &results);
    Ok(())
}

struct SumNotRounded;
impl Slip for SumNotRounded {
    fn normalised(_x: &[f32], sum: &[f32], _dtype: DType) -> Vec<f32> {
        sum.to_vec()
    }
}

struct XNormalised;
impl Slip for XNormalised {
    fn normalised(x: &[f32], _sum: &[f32], _dtype: DType) -> Vec<f32> {
        x.to_vec()
    }
}

struct ResidualSubtracted;
impl Slip for ResidualSubtracted {
    fn add(x: f32, residual: f32) -> f32 {
        x - residual
    }
}

struct SumInBf16;
impl Slip for SumInBf16 {
    fn add(x: f32, residual: f32) -> f32 {
        bf16::from_f32(x + residual).to_f32()
    }
}

struct NanSwallowed;
impl Slip for NanSwallowed {
    fn add(x: f32, residual: f32) -> f32 {
        if x.is_nan() { residual } else { x + residual }
    }
}

struct SumIsX;
impl Slip for SumIsX {
    fn written(_sum: Vec<f32>, x: &[f32], _y: &[f32]) -> Vec<f32> {
        x.to_vec()
    }
}

struct SumIsResult;
impl Slip for SumIsResult {
    fn written(_sum: Vec<f32>, _x: &[f32], y: &[f32]) -> Vec<f32> {
        y.to_vec()
    }
}

struct LastSumUnwritten;
impl Slip for LastSumUnwritten {
    fn written(mut sum: Vec<f32>, _x: &[f32], _y: &[f32]) -> Vec<f32> {
        sum.pop();
        sum
    }
}

struct LastResidualStale;
impl Slip for LastResidualStale {
    fn source(i: usize, rows: usize) -> usize {
        if i > 0 && i + 1 == rows { i - 1 } else { i }
    }
}

struct FirstResidualForAll;
impl Slip for FirstResidualForAll {
    fn source(_i: usize, _rows: usize) -> usize {
        0
    }
}

struct ResidualStrideIgnored;
impl Slip for ResidualStrideIgnored {
    fn residual(tensor: &Tensor) -> Vec<Vec<f32>> {
        flawed::read_densely(tensor)
    }
}

struct TailDroppedFromSquares;
impl Slip for TailDroppedFromSquares {
    fn squares(x: &[f32]) -> f32 {
        x[..x.len() / 16 * 16].iter().map(|x| x * x).sum()
    }
}

struct Bf16Accumulate;
impl Slip for Bf16Accumulate {
    fn squares(x: &[f32]) -> f32 {
        x.iter().fold(bf16::ZERO, |sum, x| bf16::from_f32(sum.to_f32() + x * x)).to_f32()
    }
}

struct EpsIgnored;
impl Slip for EpsIgnored {
    fn inverse(squares: f32, length: f32, _eps: f32) -> f32 {
        1.0 / (squares / length).sqrt()
    }
}

struct EpsOutsideRoot;
impl Slip for EpsOutsideRoot {
    fn inverse(squares: f32, length: f32, eps: f32) -> f32 {
        1.0 / ((squares / length).sqrt() + eps)
    }
}

struct EpsFixed;
impl Slip for EpsFixed {
    fn inverse(squares: f32, length: f32, _eps: f32) -> f32 {
        1.0 / (squares / length + 1e-6).sqrt()
    }
}

struct WeightOffByOne;
impl Slip for WeightOffByOne {
    fn weight(problem: &Problem, w: &[f32], i: usize) -> f32 {
        let w = w[(i + 1) % w.len()];
        if problem.is_gemma { 1.0 + w } else { w }
    }
}

struct GemmaAsLlama;
impl Slip for GemmaAsLlama {
    fn weight(_problem: &Problem, w: &[f32], i: usize) -> f32 {
        w[i]
    }
}

const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];
const NARROW: &[DType] = &[DType::Bf16, DType::F16];

mutants! {
    SumNotRounded NARROW, "sum_not_rounded": "y is made of the sum before it was rounded";
    XNormalised ALL, "x_normalised": "x is normalised, not the sum";
    ResidualSubtracted ALL, "residual_subtracted": "the residual has the other sign";
    SumInBf16 &[DType::F32, DType::F16], "sum_in_bf16": "the sum loses bits";
    NanSwallowed ALL, "nan_swallowed": "a NaN in x counts as 0";
    SumIsX ALL, "sum_is_x": "x is written instead of the sum";
    SumIsResult ALL, "sum_is_result": "y is written instead of the sum";
    LastSumUnwritten ALL, "last_sum_unwritten": "the last element of a row's sum stays";
    LastResidualStale ALL, "last_residual_stale": "the last row gets the residual before its own";
    FirstResidualForAll ALL, "first_residual_for_all": "every row gets the first residual";
    ResidualStrideIgnored ALL, "residual_stride_ignored": "its rows are taken to lie densely";
    TailDroppedFromSquares ALL, "tail_dropped_from_squares": "only whole vectors of 16 count";
    Bf16Accumulate ALL, "bf16_accumulate": "the sum of squares is kept in bf16";
    EpsIgnored ALL, "eps_ignored": "eps is not added";
    EpsOutsideRoot ALL, "eps_outside_root": "eps is added to the root, not to the mean";
    EpsFixed ALL, "eps_fixed": "eps is always the default";
    WeightOffByOne ALL, "weight_off_by_one": "each element gets its neighbour's weight";
    GemmaAsLlama ALL, "gemma_as_llama": "the variant is ignored";
}
