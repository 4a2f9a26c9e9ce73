//! The slow truth of a transpose: every element where it belongs.
#![forbid(unsafe_code)]

use super::definition::Problem;
use proofmark_contract::{Truth, Want};

/// The truth about the wanted elements. The scale is 0: nothing is rounded.
pub(super) fn truth(problem: &Problem, x: &[f64], want: &Want) -> Truth {
    let Problem { batch, m, n } = *problem;
    let mut truth = Truth::default();
    for index in want.indices(batch * n, m) {
        let (row, i) = (index / m, index % m);
        let (plane, j) = (row / n, row % n);
        truth.push(x[(plane * m + i) * n + j], 0.0);
    }
    truth
}
