//! The truth of products with 8-bit weights in f64: value and error scale.
#![forbid(unsafe_code)]

use super::definition::Problem;
use proofmark_contract::{Truth, Values, Want};

/// The truth about the wanted elements; the scale is the sum of the magnitudes of the terms.
pub(super) fn truth(problem: &Problem, inputs: &Values, want: &Want) -> Truth {
    let Problem { m, n, k, group } = *problem;
    let (x, codes, scales) = (inputs.of(0), inputs.of(1), inputs.of(2));
    let (columns, groups) = (want.cols(n), k.div_ceil(group));
    let mut truth = Truth::default();
    for row in want.rows(m) {
        for &column in &columns {
            let (mut value, mut scale) = (0.0, 0.0);
            for p in 0..k {
                let weight = codes[column * k + p] * scales[column * groups + p / group];
                let term = x[row * k + p] * weight;
                value += term;
                scale += term.abs();
            }
            truth.push(value, if scale.is_finite() { scale } else { 0.0 });
        }
    }
    truth
}
