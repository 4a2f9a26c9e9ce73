//! The slow truth of layer normalisation's gradient in f64: value and error scale.
#![forbid(unsafe_code)]

use super::definition::Problem;
use proofmark_contract::{Truth, Want};

/// The loss of an intermediate product that is subnormal, whatever its size.
const UNDERFLOW: f64 = 1.0 / (1u128 << 125) as f64;

/// Mean and root of a row, and how far off a normalised element may be in units of u.
struct Row {
    mean: f64,
    root: f64,
    /// The part of an error that is in proportion to the element.
    relative: f64,
    /// The part that the mean's error makes, whatever the element.
    absolute: f64,
}

impl Row {
    fn of(problem: &Problem, x: &[f64]) -> Row {
        let length = problem.length as f64;
        let mean = x.iter().sum::<f64>() / length;
        let magnitude = x.iter().map(|x| x.abs()).sum::<f64>() / length;
        let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / length;
        let root = 1.0 / (variance + problem.eps).sqrt();
        let growth = 1.0 + length.sqrt() / 4.0;
        let relative = 4.0 + growth / 2.0;
        Row { mean, root, relative, absolute: root * magnitude * growth + UNDERFLOW }
    }

    fn normal(&self, x: f64) -> f64 {
        (x - self.mean) * self.root
    }

    /// The scale of a normalised element's error.
    fn spread(&self, x: f64) -> f64 {
        self.normal(x).abs() * self.relative + self.absolute
    }
}

/// The truth about the wanted elements of an output: dx, dgamma or dbeta.
pub(super) fn truth(
    problem: &Problem,
    [x, gamma, dy]: [&[f64]; 3],
    output: usize,
    want: &Want,
) -> Truth {
    let length = problem.length;
    let row_of = |values: &'_ [f64], row: usize| values[row * length..][..length].to_vec();
    let columns = want.cols(length);
    let mut truth = Truth::with_capacity(columns.len());
    let mut push =
        |value: f64, scale: f64| truth.push(value, if scale.is_nan() { 0.0 } else { scale });
    if output == 0 {
        for row in want.rows(problem.rows) {
            let (x, dy) = (row_of(x, row), row_of(dy, row));
            by_x(problem, [&x, gamma, &dy], &columns, &mut push);
        }
        return truth;
    }
    let mut sums = vec![(0.0, 0.0); columns.len()];
    for row in 0..problem.rows {
        let (x, dy) = (row_of(x, row), row_of(dy, row));
        let of = Row::of(problem, &x);
        for (&i, (sum, scale)) in columns.iter().zip(&mut sums) {
            let (value, spread) = match output {
                1 => (dy[i] * of.normal(x[i]), dy[i].abs() * of.spread(x[i])),
                _ => (dy[i], dy[i].abs()),
            };
            *sum += value;
            *scale += spread;
        }
    }
    sums.into_iter().for_each(|(sum, scale)| push(sum, scale));
    truth
}

/// A row of dx. With `a = dy·gamma` and normalised elements h, the scale is that of
/// `r·(a − mean a − h·mean(a·h))`: the terms' magnitudes with the roundings of r, the errors of
/// both means, which grow with the length, and those of h in its two places.
fn by_x(
    problem: &Problem,
    [x, gamma, dy]: [&[f64]; 3],
    columns: &[usize],
    push: &mut impl FnMut(f64, f64),
) {
    let (of, length) = (Row::of(problem, x), problem.length as f64);
    let a: Vec<f64> = dy.iter().zip(gamma).map(|(dy, gamma)| dy * gamma).collect();
    let mean = |of: &dyn Fn(usize) -> f64| (0..problem.length).map(of).sum::<f64>() / length;
    let straight = mean(&|j| a[j]);
    let turned = mean(&|j| a[j] * of.normal(x[j]));
    let magnitude = mean(&|j| a[j].abs());
    let spread = mean(&|j| a[j].abs() * of.spread(x[j]));
    for &i in columns {
        let h = of.normal(x[i]);
        let value = of.root * (a[i] - straight - h * turned);
        let terms = a[i].abs() + straight.abs() + (h * turned).abs();
        let scale = terms * of.relative
            + of.relative * magnitude
            + h.abs() * spread
            + turned.abs() * of.spread(x[i]);
        push(value, of.root * scale + UNDERFLOW * (1.0 + of.root) * (1.0 + magnitude));
    }
}
