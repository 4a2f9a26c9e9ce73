//! The slow truth of attention in f64: value and error scale.
#![forbid(unsafe_code)]

use super::definition::{KEYS, Problem, QUERIES, VALUES};
use proofmark_contract::{Truth, Values, Want};
use proofmark_terms::DType;

/// The least f32 over its unit roundoff: a subnormal number is off by an absolute amount.
const UNDERFLOW: f64 = 1.0 / (1u128 << 125) as f64;

/// The truth about the wanted elements.
///
/// The scale is `Σ p·|v|·(A + Ā + |s−m| + 4 + g(t))` with `g(n) = 1 + √n/4`. A score is a sum of
/// products and so off by `u·A`, `A = scale·Σ|q||k|`; the difference from the greatest by
/// `u·|s−m|`; the exponential turns both into a relative error, of the term and, as their mean
/// `Ā` under p, of the sum that divides it. The exponential, quotient and product have 4
/// roundings, the two sums over keys g.
///
/// A contender that rounds the weights to `dtype` before their product with the values is off by
/// `u` of that type in each term, or by half its smallest number where a weight is subnormal
/// compared with the greatest. These errors have either sign, so it is forgiven twice the root of
/// the sum of their squares. The sum of their magnitudes is about √t times as large over t keys,
/// and it hid a tenth of an element.
pub(crate) fn truth(problem: &Problem, dtype: DType, inputs: &Values, want: &Want) -> Truth {
    let rounding = |squares: f64| 2.0 * squares.sqrt() / DType::F32.unit();
    let (columns, rows) = (want.cols(problem.width), want.rows(problem.rows()));
    let mut truth = Truth::with_capacity(rows.len() * columns.len());
    for row in rows {
        let (query, first) = problem.place(row);
        let visible = problem.visible(query);
        let weights = Weights::of(problem, inputs, row, first + visible.start..first + visible.end);
        let values = &inputs.of(VALUES)[(first + visible.start) * problem.width..];
        let keys = (visible.len() as f64).max(1.0);
        let underflow = dtype.smallest() / 2.0 * weights.greatest;
        for &column in &columns {
            let (mut value, mut scale, mut squares) = (0.0, UNDERFLOW * keys, 0.0);
            for (weight, row) in weights.each.iter().zip(values.chunks_exact(problem.width)) {
                let term = weight.share * row[column];
                value += term;
                squares += (dtype.unit() * term).powi(2) + (underflow * row[column]).powi(2);
                scale += weighted(term.abs(), weight.error);
                scale += UNDERFLOW * row[column].abs();
            }
            let is_blind = weights.each.is_empty();
            let [scale, forgiven] = [scale, rounding(squares)]
                .map(|scale| if is_blind || !scale.is_finite() { 0.0 } else { scale });
            truth.push(value, scale);
            truth.forgiven.push(forgiven);
        }
    }
    truth
}

/// What a key counts for a query.
struct Weight {
    /// Its probability.
    share: f64,
    /// The relative error of its term, in units of `u`.
    error: f64,
}

struct Weights {
    each: Vec<Weight>,
    /// The greatest share.
    greatest: f64,
}

impl Weights {
    /// The weights of the keys in these rows for the query in row `row`.
    fn of(problem: &Problem, inputs: &Values, row: usize, keys: std::ops::Range<usize>) -> Weights {
        let width = problem.width;
        let query = &inputs.of(QUERIES)[row * width..][..width];
        let score = |key: usize| {
            let key = &inputs.of(KEYS)[key * width..][..width];
            let terms = query.iter().zip(key).map(|(q, k)| q * k);
            let (sum, magnitude) = terms.fold((0.0, 0.0), |(s, a), x| (s + x, a + x.abs()));
            (problem.scale * sum, problem.scale * magnitude)
        };
        let terms = keys.len() as f64;
        let scores: Vec<(f64, f64)> = keys.map(score).collect();
        let max = scores.iter().map(|(s, _)| *s).fold(f64::NEG_INFINITY, f64::max);
        if scores.iter().all(|(s, _)| *s == f64::NEG_INFINITY) {
            // No key has any weight.
            return Weights { each: Vec::new(), greatest: 0.0 };
        }
        let sum: f64 = scores.iter().map(|(s, _)| (s - max).exp()).sum();
        let share = |s: f64| (s - max).exp() / sum;
        let off = |s: f64, a: f64| weighted(share(s), a) + weighted(share(s), (s - max).abs());
        let mean: f64 = scores.iter().map(|&(s, a)| off(s, a)).sum();
        let roundings = mean + 4.0 + 1.0 + terms.sqrt() / 4.0;
        let weigh = |&(s, a): &(f64, f64)| Weight {
            share: share(s),
            error: a + (s - max).abs() + roundings,
        };
        Weights { each: scores.iter().map(weigh).collect(), greatest: share(max) }
    }
}

/// `p·size`, where a probability of 0 outweighs an infinite size.
fn weighted(p: f64, size: f64) -> f64 {
    if p == 0.0 { 0.0 } else { p * size }
}
