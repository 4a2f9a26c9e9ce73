//! Wrong gradients of layer normalisation that the gate must refuse.

use super::definition::Problem;
use crate::flawed::{self, mutants};
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Tensor, bf16};
use proofmark_terms::DType;

/// A row as the formulas see it.
struct Row {
    /// dy · gamma.
    a: Vec<f32>,
    /// Normalised elements.
    h: Vec<f32>,
    r: f32,
}

fn mean(values: impl ExactSizeIterator<Item = f32>) -> f32 {
    let length = values.len() as f32;
    values.map(f64::from).sum::<f64>() as f32 / length
}

/// The right computation in steps; each mutant gets one of them wrong.
trait Slip {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        flawed::read(x)
    }

    fn read_gradient(dy: &Tensor) -> Vec<Vec<f32>> {
        flawed::read(dy)
    }

    fn variance(x: &[f32], centre: f32) -> f32 {
        mean(x.iter().map(|x| (x - centre).powi(2)))
    }

    fn inverse(variance: f32, eps: f32) -> f32 {
        1.0 / (variance + eps).sqrt()
    }

    fn weigh(dy: f32, gamma: f32) -> f32 {
        dy * gamma
    }

    /// The mean of a that is subtracted.
    fn straight(row: &Row) -> f32 {
        mean(row.a.iter().copied())
    }

    /// The mean of a·h that h is multiplied with.
    fn turned(row: &Row) -> f32 {
        mean(row.a.iter().zip(&row.h).map(|(a, h)| a * h))
    }

    fn root(r: f32) -> f32 {
        r
    }

    /// The term of dgamma.
    fn by_gamma(dy: f32, _x: f32, h: f32, _gamma: f32) -> f32 {
        dy * h
    }

    /// The term of dbeta.
    fn by_beta(dy: f32, _gamma: f32) -> f32 {
        dy
    }

    fn add(sum: f32, term: f32) -> f32 {
        sum + term
    }

    /// Rows that dgamma and dbeta are made of.
    fn summed(rows: usize) -> usize {
        rows
    }

    fn finish(gradients: [Vec<f32>; 2], _rows: usize) -> [Vec<f32>; 2] {
        gradients
    }

    /// Elements of a row that are written.
    fn written(length: usize) -> usize {
        length
    }
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let Problem { rows, length, eps } = Problem::of(call.case);
    let (x, dy) = (M::read(&call.inputs[0]), M::read_gradient(&call.inputs[2]));
    let gamma = flawed::read(&call.inputs[1]).concat();
    let mut sums = [vec![0.0; length], vec![0.0; length]];
    let mut dx = Vec::new();
    for (i, (x, dy)) in x.iter().zip(&dy).enumerate() {
        let centre = mean(x.iter().copied());
        let r = M::inverse(M::variance(x, centre), eps as f32);
        let a = dy.iter().zip(&gamma).map(|(&dy, &gamma)| M::weigh(dy, gamma)).collect();
        let row = Row { a, h: x.iter().map(|x| (x - centre) * r).collect(), r };
        let (straight, turned) = (M::straight(&row), M::turned(&row));
        let element = |j: usize| M::root(row.r) * (row.a[j] - straight - row.h[j] * turned);
        dx.push((0..M::written(length)).map(element).collect());
        for j in 0..if i < M::summed(rows) { length } else { 0 } {
            sums[0][j] = M::add(sums[0][j], M::by_gamma(dy[j], x[j], row.h[j], gamma[j]));
            sums[1][j] = M::add(sums[1][j], M::by_beta(dy[j], gamma[j]));
        }
    }
    flawed::write(&mut call.outputs[0], &dx);
    for (k, sums) in M::finish(sums, rows).into_iter().enumerate() {
        flawed::write(&mut call.outputs[1 + k], &[sums]);
    }
    Ok(())
}

fn narrowed(value: f32) -> f32 {
    bf16::from_f32(value).to_f32()
}

struct MeanForgotten;
impl Slip for MeanForgotten {
    fn straight(_row: &Row) -> f32 {
        0.0
    }
}

struct VarianceForgotten;
impl Slip for VarianceForgotten {
    fn turned(_row: &Row) -> f32 {
        0.0
    }
}

struct TurnedWithoutGamma;
impl Slip for TurnedWithoutGamma {
    fn weigh(dy: f32, _gamma: f32) -> f32 {
        dy
    }
}

struct TailOfSumDropped;
impl Slip for TailOfSumDropped {
    fn turned(row: &Row) -> f32 {
        let (length, whole) = (row.a.len(), row.a.len() / 16 * 16);
        let products = row.a.iter().zip(&row.h).take(whole).map(|(a, h)| a * h);
        products.sum::<f32>() / length as f32
    }
}

struct PaddingCounted;
impl Slip for PaddingCounted {
    fn straight(row: &Row) -> f32 {
        row.a.iter().sum::<f32>() / row.a.len().next_multiple_of(16) as f32
    }
}

struct VarianceUnbiased;
impl Slip for VarianceUnbiased {
    fn variance(x: &[f32], centre: f32) -> f32 {
        x.iter().map(|x| (x - centre).powi(2)).sum::<f32>() / (x.len() as f32 - 1.0)
    }
}

struct VarianceOfSquares;
impl Slip for VarianceOfSquares {
    fn variance(x: &[f32], centre: f32) -> f32 {
        (x.iter().map(|x| x * x).sum::<f32>() / x.len() as f32 - centre * centre).max(0.0)
    }
}

struct EpsIgnored;
impl Slip for EpsIgnored {
    fn inverse(variance: f32, _eps: f32) -> f32 {
        1.0 / variance.sqrt()
    }
}

struct EpsFixed;
impl Slip for EpsFixed {
    fn inverse(variance: f32, _eps: f32) -> f32 {
        1.0 / (variance + 1e-5).sqrt()
    }
}

struct RootForgotten;
impl Slip for RootForgotten {
    fn root(_r: f32) -> f32 {
        1.0
    }
}

struct NotNormalised;
impl Slip for NotNormalised {
    fn by_gamma(dy: f32, x: f32, _h: f32, _gamma: f32) -> f32 {
        dy * x
    }
}

struct GammaTwice;
impl Slip for GammaTwice {
    fn by_gamma(dy: f32, _x: f32, h: f32, gamma: f32) -> f32 {
        dy * h * gamma
    }
}

struct BetaWeighted;
impl Slip for BetaWeighted {
    fn by_beta(dy: f32, gamma: f32) -> f32 {
        dy * gamma
    }
}

struct Exchanged;
impl Slip for Exchanged {
    fn finish([gamma, beta]: [Vec<f32>; 2], _rows: usize) -> [Vec<f32>; 2] {
        [beta, gamma]
    }
}

struct Averaged;
impl Slip for Averaged {
    fn finish(gradients: [Vec<f32>; 2], rows: usize) -> [Vec<f32>; 2] {
        gradients.map(|sums| sums.iter().map(|sum| sum / rows as f32).collect())
    }
}

struct LastRowMissing;
impl Slip for LastRowMissing {
    fn summed(rows: usize) -> usize {
        rows.saturating_sub(1)
    }
}

struct PieceLost;
impl Slip for PieceLost {
    fn summed(rows: usize) -> usize {
        rows.min(32)
    }
}

struct SumsInBf16;
impl Slip for SumsInBf16 {
    fn add(sum: f32, term: f32) -> f32 {
        narrowed(sum + term)
    }
}

struct NanSwallowed;
impl Slip for NanSwallowed {
    fn read_gradient(dy: &Tensor) -> Vec<Vec<f32>> {
        let mut rows = flawed::read(dy);
        rows.iter_mut().flatten().filter(|dy| dy.is_nan()).for_each(|dy| *dy = 0.0);
        rows
    }
}

struct InputRoundedToBf16;
impl Slip for InputRoundedToBf16 {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        let mut rows = flawed::read(x);
        rows.iter_mut().flatten().for_each(|x| *x = narrowed(*x));
        rows
    }
}

struct RowStrideIgnored;
impl Slip for RowStrideIgnored {
    fn read_gradient(dy: &Tensor) -> Vec<Vec<f32>> {
        flawed::read_densely(dy)
    }
}

struct LastElementUnwritten;
impl Slip for LastElementUnwritten {
    fn written(length: usize) -> usize {
        length.saturating_sub(1)
    }
}

const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];

mutants! {
    MeanForgotten ALL, "mean_forgotten": "the mean of dy · gamma is not taken off";
    VarianceForgotten ALL, "variance_forgotten": "the variance is taken for a constant";
    TurnedWithoutGamma ALL, "gamma_forgotten": "dx is not weighted";
    TailOfSumDropped ALL, "tail_of_sum_dropped": "a sum lacks what follows the last whole vector";
    PaddingCounted ALL, "padding_counted": "a mean is divided by the padded length";
    VarianceUnbiased ALL, "variance_unbiased": "squares are divided by the length minus one";
    VarianceOfSquares &[DType::F32], "variance_of_squares": "mean of x² minus mean²";
    EpsIgnored ALL, "eps_ignored": "eps is not added";
    EpsFixed ALL, "eps_fixed": "eps is always the default";
    RootForgotten ALL, "root_forgotten": "dx is not divided by the deviation";
    NotNormalised ALL, "not_normalised": "dgamma is made of x itself";
    GammaTwice ALL, "gamma_twice": "dgamma is weighted";
    BetaWeighted ALL, "beta_weighted": "dbeta is weighted";
    Exchanged ALL, "exchanged": "dgamma and dbeta change places";
    Averaged ALL, "averaged": "dgamma and dbeta are divided by the rows";
    LastRowMissing ALL, "last_row_missing": "the sums lack the last row";
    PieceLost ALL, "piece_lost": "the sums end with the first piece of rows";
    SumsInBf16 ALL, "sums_in_bf16": "dgamma and dbeta are added up in bf16";
    NanSwallowed ALL, "nan_swallowed": "NaN in dy counts as 0";
    InputRoundedToBf16 &[DType::F32, DType::F16], "input_rounded_to_bf16": "x loses bits first";
    RowStrideIgnored ALL, "row_stride_ignored": "rows of dy are taken to lie densely";
    LastElementUnwritten ALL, "last_element_unwritten": "the last element of a row stays";
}
