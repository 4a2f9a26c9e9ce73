//! The slow truth of reductions in f64: value and error scale of one output from its terms.
#![forbid(unsafe_code)]

use super::definition::Problem;
use proofmark_contract::{Truth, Want};

/// Value and scale of the terms of one output; the number is the variance's correction.
pub(super) type Formula = fn(&[f64], f64) -> (f64, f64);

/// The truth about the wanted elements.
pub(super) fn truth(formula: Formula, problem: &Problem, x: &[f64], want: &Want) -> Truth {
    let shape = problem.shape();
    let cols = shape.last().copied().unwrap_or(1);
    let rows = shape.iter().rev().skip(1).product();
    let indices = want.indices(rows, cols);
    let mut truth = Truth::with_capacity(indices.len());
    let mut terms = Vec::with_capacity(problem.terms());
    for output in indices {
        terms.clear();
        terms.extend((0..problem.terms()).map(|term| x[problem.flat(output, term)]));
        let (value, scale) = formula(&terms, problem.correction);
        truth.push(value, if scale.is_nan() { 0.0 } else { scale });
    }
    truth
}

/// Terms are exact in f64 and their sum far below f32; the scale is what passes through it.
pub(super) fn sum(terms: &[f64], _: f64) -> (f64, f64) {
    terms.iter().fold((0.0, 0.0), |(value, scale), x| (value + x, scale + x.abs()))
}

/// The sum over the count; one more rounding.
pub(super) fn mean(terms: &[f64], _: f64) -> (f64, f64) {
    let ((value, scale), count) = (sum(terms, 0.0), terms.len() as f64);
    (value / count, (value.abs() + scale) / count)
}

/// Squares of differences from the mean.
///
/// Difference, square, sum and quotient round in proportion to the variance: `4·var`. An error of
/// the mean counts twice: by itself, `e·σ`, where partial variances are joined by their means (the
/// squares' sum forgives it), and squared in any case; `e` is about `u·mean|x|`, its growth with
/// the length `1 + √n/4`.
pub(super) fn variance(terms: &[f64], correction: f64) -> (f64, f64) {
    let count = terms.len() as f64;
    let (total, magnitudes) = sum(terms, 0.0);
    let (centre, magnitude) = (total / count, magnitudes / count);
    let squares: f64 = terms.iter().map(|x| (x - centre) * (x - centre)).sum();
    let divisor = (count - correction).max(0.0);
    let variance = squares / divisor;
    let growth = 1.0 + count.sqrt() / 4.0;
    let unit = 1.0 / (1u64 << 24) as f64;
    let spread = magnitude * variance.sqrt() + unit * magnitude * magnitude * growth;
    (variance, 4.0 * variance + spread * count / divisor)
}

/// The largest, NaN where there is one.
pub(super) fn max(terms: &[f64], _: f64) -> (f64, f64) {
    let largest = |best: f64, &x: &f64| if best.is_nan() || best >= x { best } else { x };
    (terms.iter().fold(f64::NEG_INFINITY, largest), 0.0)
}

/// The first place of NaN, or else of the largest.
pub(super) fn argmax(terms: &[f64], _: f64) -> (f64, f64) {
    let (largest, _) = max(terms, 0.0);
    let is_it = |x: &f64| *x == largest || largest.is_nan() && x.is_nan();
    (terms.iter().position(is_it).unwrap_or(0) as f64, 0.0)
}
