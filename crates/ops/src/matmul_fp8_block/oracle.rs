//! The truth of block-scaled fp8 products in f64: value and error scale.
#![forbid(unsafe_code)]

use super::definition::Problem;
use proofmark_contract::{Truth, Values, Want};
use proofmark_tensor::{F8E4m3, Overflow};

/// The left operand as the product takes it: given codes times their scales, or what quantising
/// on the way makes of it.
pub(super) fn left(problem: &Problem, inputs: &Values) -> Vec<f64> {
    let Problem { m, k, block, .. } = *problem;
    let (a, across) = (inputs.of(0), k.div_ceil(block));
    if !problem.is_quantised {
        let scale = |at: usize| inputs.of(1)[at / k * across + at % k / block];
        return a.iter().enumerate().map(|(at, a)| a * scale(at)).collect();
    }
    let mut values = Vec::with_capacity(m * k);
    for row in a.chunks_exact(k.max(1)) {
        for block in row.chunks(block) {
            values.extend(quantised(block));
        }
    }
    values
}

fn quantised(block: &[f64]) -> Vec<f64> {
    if block.iter().any(|x| !x.is_finite()) {
        return vec![f64::NAN; block.len()];
    }
    let range = block.iter().fold(0.0f32, |most, &x| most.max(x.abs() as f32));
    let (scale, inverse) = (range / 448.0, 448.0 / range);
    if inverse.is_infinite() {
        return vec![0.0; block.len()];
    }
    let code = |x: f64| F8E4m3::from_f32(x as f32 * inverse, Overflow::Saturate).to_f32();
    block.iter().map(|&x| f64::from(code(x)) * f64::from(scale)).collect()
}

/// The truth about the wanted elements; the scale is the sum of the magnitudes of the terms.
pub(super) fn truth(problem: &Problem, inputs: &Values, want: &Want) -> Truth {
    product(problem, &left(problem, inputs), inputs, want)
}

/// The product of a left operand of reals with the right one.
pub(super) fn product(problem: &Problem, left: &[f64], inputs: &Values, want: &Want) -> Truth {
    let Problem { m, n, k, block, is_quantised } = *problem;
    let first = if is_quantised { 1 } else { 2 };
    let (b, scales, across) = (inputs.of(first), inputs.of(first + 1), k.div_ceil(block));
    let columns = want.cols(n);
    let mut truth = Truth::default();
    for row in want.rows(m) {
        for &column in &columns {
            let (mut value, mut scale) = (0.0, 0.0);
            for p in 0..k {
                let weight = b[column * k + p] * scales[column / block * across + p / block];
                let term = left[row * k + p] * weight;
                value += term;
                scale += term.abs();
            }
            truth.push(value, if scale.is_finite() { scale } else { 0.0 });
        }
    }
    truth
}
