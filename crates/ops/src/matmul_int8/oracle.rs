//! The truth of products of bytes: exact sums, and Freivalds' check of a whole output.
#![forbid(unsafe_code)]

use super::definition::Problem;
use proofmark_contract::{Truth, Values, Want};
use proofmark_tensor::mix;

/// The truth about the wanted elements. Sums are exact in f64. Scaled, their error scale is the
/// magnitude: three roundings follow the sum.
pub(super) fn truth(problem: &Problem, inputs: &Values, want: &Want) -> Truth {
    let Problem { m, n, k, is_raw } = *problem;
    let (a, b) = (inputs.of(0), inputs.of(1));
    let columns = want.cols(n);
    let mut truth = Truth::default();
    for row in want.rows(m) {
        for &column in &columns {
            let (a, b) = (&a[row * k..][..k], &b[column * k..][..k]);
            let sum: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            if is_raw {
                truth.push(sum, 0.0);
                continue;
            }
            let value = sum * inputs.of(2)[row] * inputs.of(3)[column];
            truth.push(value, if value.is_finite() { value.abs() } else { 0.0 });
        }
    }
    truth
}

/// `C·x = A·(Bᵀ·x)` for a random vector of small integers: exact in f64.
pub(super) fn freivalds(
    problem: &Problem,
    inputs: &Values,
    c: &[f64],
    seed: u64,
) -> Option<Result<(), String>> {
    let Problem { n, k, is_raw, .. } = *problem;
    if !is_raw || n == 0 || k == 0 {
        return None;
    }
    let x: Vec<f64> = (0..n as u64).map(|j| (mix(seed, 5, j) % 15) as f64 - 7.0).collect();
    let mut turned = vec![0.0; k];
    for (row, x) in inputs.of(1).chunks_exact(k).zip(&x) {
        turned.iter_mut().zip(row).for_each(|(sum, b)| *sum += b * x);
    }
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for (row, (c, a)) in c.chunks_exact(n).zip(inputs.of(0).chunks_exact(k)).enumerate() {
        let (got, want) = (dot(c, &x), dot(a, &turned));
        if got != want {
            return Some(Err(format!("row {row} fails Freivalds' check: {got} is not {want}")));
        }
    }
    Some(Ok(()))
}
