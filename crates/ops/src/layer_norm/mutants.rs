//! Wrong layer normalisations that the gate must refuse.

use super::definition::Problem;
use crate::flawed::{self, mutants};
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Tensor, bf16};
use proofmark_terms::DType;

/// The right computation in steps; each mutant gets one of them wrong.
trait Slip {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        flawed::read(x)
    }

    /// The row that row `i` is computed from.
    fn source(i: usize, _rows: usize) -> usize {
        i
    }

    /// The row whose mean and root row `i` is normalised with.
    fn statistics(i: usize) -> usize {
        i
    }

    fn mean(x: &[f32]) -> f32 {
        x.iter().sum::<f32>() / x.len() as f32
    }

    fn variance(x: &[f32], mean: f32) -> f32 {
        x.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / x.len() as f32
    }

    fn inverse(variance: f32, eps: f32) -> f32 {
        1.0 / (variance + eps).sqrt()
    }

    fn weigh(normal: f32, gamma: f32, beta: f32, _dtype: DType) -> f32 {
        normal * gamma + beta
    }

    /// Which element of beta column `j` gets.
    fn beta_of(j: usize, _length: usize) -> usize {
        j
    }

    /// Elements of a row that are written.
    fn written(length: usize) -> usize {
        length
    }
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let Problem { rows, length, eps } = Problem::of(call.case);
    let x = M::read(&call.inputs[0]);
    let weights = [1, 2].map(|i| flawed::read(&call.inputs[i]).remove(0));
    let row = |i: usize| {
        let (x, of) = (&x[M::source(i, rows)], &x[M::statistics(M::source(i, rows))]);
        let mean = M::mean(of);
        let r = M::inverse(M::variance(of, mean), eps as f32);
        let element = |j: usize| {
            let beta = weights[1][M::beta_of(j, length)];
            M::weigh((x[j] - mean) * r, weights[0][j], beta, call.case.dtype)
        };
        (0..M::written(length)).map(element).collect()
    };
    let y: Vec<Vec<f32>> = (0..rows).map(row).collect();
    flawed::write(&mut call.outputs[0], &y);
    Ok(())
}

struct VarianceOfSquares;
impl Slip for VarianceOfSquares {
    fn variance(x: &[f32], mean: f32) -> f32 {
        (x.iter().map(|x| x * x).sum::<f32>() / x.len() as f32 - mean * mean).max(0.0)
    }
}

struct VarianceUnbiased;
impl Slip for VarianceUnbiased {
    fn variance(x: &[f32], mean: f32) -> f32 {
        x.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / (x.len() as f32 - 1.0)
    }
}

struct VarianceOfWholeVectors;
impl Slip for VarianceOfWholeVectors {
    fn variance(x: &[f32], mean: f32) -> f32 {
        let whole = &x[..x.len() / 16 * 16];
        whole.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / x.len() as f32
    }
}

struct PaddingInVariance;
impl Slip for PaddingInVariance {
    fn variance(x: &[f32], mean: f32) -> f32 {
        let padding = (x.len().next_multiple_of(16) - x.len()) as f32;
        let squares: f32 = x.iter().map(|x| (x - mean).powi(2)).sum();
        (squares + padding * mean * mean) / x.len() as f32
    }
}

struct MeanOfWholeVectors;
impl Slip for MeanOfWholeVectors {
    fn mean(x: &[f32]) -> f32 {
        x[..x.len() / 16 * 16].iter().sum::<f32>() / x.len() as f32
    }
}

struct MeanNotSubtracted;
impl Slip for MeanNotSubtracted {
    fn mean(_x: &[f32]) -> f32 {
        0.0
    }
}

struct MeanInBf16;
impl Slip for MeanInBf16 {
    fn mean(x: &[f32]) -> f32 {
        let sum = x.iter().fold(bf16::ZERO, |sum, x| bf16::from_f32(sum.to_f32() + x));
        sum.to_f32() / x.len() as f32
    }
}

struct EpsIgnored;
impl Slip for EpsIgnored {
    fn inverse(variance: f32, _eps: f32) -> f32 {
        1.0 / variance.sqrt()
    }
}

struct EpsOutsideRoot;
impl Slip for EpsOutsideRoot {
    fn inverse(variance: f32, eps: f32) -> f32 {
        1.0 / (variance.sqrt() + eps)
    }
}

struct EpsFixed;
impl Slip for EpsFixed {
    fn inverse(variance: f32, _eps: f32) -> f32 {
        1.0 / (variance + 1e-5).sqrt()
    }
}

struct RootEstimate;
impl Slip for RootEstimate {
    fn inverse(variance: f32, eps: f32) -> f32 {
        // The 12 bits that the estimating instruction gives.
        f32::from_bits((1.0 / (variance + eps).sqrt()).to_bits() & 0xffff_f000)
    }
}

struct GammaIgnored;
impl Slip for GammaIgnored {
    fn weigh(normal: f32, _gamma: f32, beta: f32, _dtype: DType) -> f32 {
        normal + beta
    }
}

struct GammaPlusOne;
impl Slip for GammaPlusOne {
    fn weigh(normal: f32, gamma: f32, beta: f32, _dtype: DType) -> f32 {
        normal * (1.0 + gamma) + beta
    }
}

struct BetaIgnored;
impl Slip for BetaIgnored {
    fn weigh(normal: f32, gamma: f32, _beta: f32, _dtype: DType) -> f32 {
        normal * gamma
    }
}

struct BetaWeighted;
impl Slip for BetaWeighted {
    fn weigh(normal: f32, gamma: f32, beta: f32, _dtype: DType) -> f32 {
        (normal + beta) * gamma
    }
}

struct BetaOffByOne;
impl Slip for BetaOffByOne {
    fn beta_of(j: usize, length: usize) -> usize {
        (j + 1) % length
    }
}

struct RoundedBeforeWeight;
impl Slip for RoundedBeforeWeight {
    fn weigh(normal: f32, gamma: f32, beta: f32, dtype: DType) -> f32 {
        proofmark_tensor::round_to(dtype, f64::from(normal)) as f32 * gamma + beta
    }
}

struct NanSwallowed;
impl Slip for NanSwallowed {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        let mut rows = flawed::read(x);
        rows.iter_mut().flatten().filter(|x| x.is_nan()).for_each(|x| *x = 0.0);
        rows
    }
}

struct InputRoundedToBf16;
impl Slip for InputRoundedToBf16 {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        let mut rows = flawed::read(x);
        rows.iter_mut().flatten().for_each(|x| *x = bf16::from_f32(*x).to_f32());
        rows
    }
}

struct RowStrideIgnored;
impl Slip for RowStrideIgnored {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        flawed::read_densely(x)
    }
}

struct FirstRowsStatistics;
impl Slip for FirstRowsStatistics {
    fn statistics(_i: usize) -> usize {
        0
    }
}

struct LastRowStale;
impl Slip for LastRowStale {
    fn source(i: usize, rows: usize) -> usize {
        if i > 0 && i + 1 == rows { i - 1 } else { i }
    }
}

struct LastElementUnwritten;
impl Slip for LastElementUnwritten {
    fn written(length: usize) -> usize {
        length.saturating_sub(1)
    }
}

const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];
const NARROW: &[DType] = &[DType::Bf16, DType::F16];

mutants! {
    VarianceOfSquares ALL, "variance_of_squares": "mean of x² minus mean², which cancels";
    VarianceUnbiased ALL, "variance_unbiased": "the sum is divided by the length minus one";
    VarianceOfWholeVectors ALL, "variance_of_whole_vectors": "the tail's squares are dropped";
    PaddingInVariance ALL, "padding_in_variance": "the tail's padding counts as zeros of x";
    MeanOfWholeVectors ALL, "mean_of_whole_vectors": "the tail is dropped from the mean";
    MeanNotSubtracted ALL, "mean_not_subtracted": "an RMS normalisation";
    MeanInBf16 ALL, "mean_in_bf16": "the sum is kept in bf16";
    EpsIgnored ALL, "eps_ignored": "eps is not added";
    EpsOutsideRoot ALL, "eps_outside_root": "eps is added to the deviation";
    EpsFixed ALL, "eps_fixed": "eps is always the default";
    RootEstimate ALL, "root_estimate": "the inverse root has 12 bits";
    GammaIgnored ALL, "gamma_ignored": "results are not weighted";
    GammaPlusOne ALL, "gamma_plus_one": "weighted by 1 + gamma";
    BetaIgnored ALL, "beta_ignored": "beta is not added";
    BetaWeighted ALL, "beta_weighted": "beta is added before gamma multiplies";
    BetaOffByOne ALL, "beta_off_by_one": "each element gets its neighbour's beta";
    RoundedBeforeWeight NARROW, "rounded_before_weight": "rounded before it is weighted";
    NanSwallowed ALL, "nan_swallowed": "NaN counts as 0";
    InputRoundedToBf16 &[DType::F32, DType::F16], "input_rounded_to_bf16": "x loses bits first";
    RowStrideIgnored ALL, "row_stride_ignored": "rows of x are taken to lie densely";
    FirstRowsStatistics ALL, "first_rows_statistics": "mean and root are the first row's";
    LastRowStale ALL, "last_row_stale": "the last row repeats the one before";
    LastElementUnwritten ALL, "last_element_unwritten": "the last element of a row stays";
}
