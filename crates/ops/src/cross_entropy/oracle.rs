//! The slow truth of cross entropy in f64: value and error scale.
#![forbid(unsafe_code)]

use super::definition::Problem;
use proofmark_contract::{Truth, Want};

/// The truth about the wanted losses.
///
/// The scale of a row's loss: its parts' magnitudes, the largest logit where the logarithm is
/// added to it, and what the logarithm takes over from the sum: the arguments' roundings
/// `Σ p·|x − m|`, four for exponential, sum and logarithm.
pub(super) fn truth(problem: &Problem, x: &[f64], targets: &[f64], want: &Want) -> Truth {
    let row = |i: usize| of_row(problem, &x[i * problem.length..][..problem.length], targets[i]);
    let mut truth = Truth::with_capacity(1);
    let mut push = |loss: f64, scale: f64| {
        truth.push(loss, if scale.is_nan() || loss.is_infinite() { 0.0 } else { scale });
    };
    if problem.is_mean {
        let rows: Vec<(f64, f64)> = (0..problem.rows).filter_map(row).collect();
        let (loss, scale) = rows.iter().fold((0.0, 0.0), |(l, s), row| (l + row.0, s + row.1));
        push(loss / rows.len() as f64, (loss.abs() + scale) / rows.len() as f64);
        return truth;
    }
    for i in want.indices(1, problem.rows) {
        let (loss, scale) = row(i).unwrap_or((0.0, 0.0));
        push(loss, scale);
    }
    truth
}

/// Loss and scale of a row; `None` if it does not count.
fn of_row(problem: &Problem, x: &[f64], target: f64) -> Option<(f64, f64)> {
    if target == problem.ignore as f64 {
        return None;
    }
    let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exponentials = x.iter().map(|x| (x - largest).exp());
    let sum: f64 = exponentials.sum();
    let spread: f64 = x
        .iter()
        .map(|x| (x - largest, (x - largest).exp() / sum))
        .map(|(apart, p)| if p == 0.0 { 0.0 } else { p * apart.abs() })
        .sum();
    let (logarithm, own) = (sum.ln(), largest - x[target as usize]);
    let mut loss = logarithm + (1.0 - problem.smoothing) * own;
    let mut scale = 4.0 + logarithm + 2.0 * own + largest.abs() + spread;
    if problem.smoothing > 0.0 {
        let count = x.len() as f64;
        let others = largest - x.iter().sum::<f64>() / count;
        loss += problem.smoothing * others;
        let magnitude = x.iter().map(|x| x.abs()).sum::<f64>() / count;
        scale += problem.smoothing * (2.0 * others + 2.0 * magnitude);
    }
    Some((loss, scale))
}
