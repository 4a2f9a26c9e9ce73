//! The slow truth about products in f64, and Freivalds' check of whole results.
//!
//! Products of f32 and bf16 are exact in f64; a sum of k of them is off by at most
//! k·2⁻⁵³·Σ|a||b|, which is 2⁻²⁹·k of the unit that kernels are judged by.
#![forbid(unsafe_code)]

use super::definition::{ACTIVATION, LEFT, RIGHT, Shape, bias_of};
use proofmark_contract::{Truth, Values, Want};
use proofmark_tensor::mix;
use proofmark_terms::Case;

/// The least f32 over its unit roundoff.
const UNDERFLOW: f64 = 1.0 / (1u128 << 125) as f64;

/// Σ a·b and Σ|a||b| of the wanted elements, with bias and activation.
pub(super) fn truth(case: &Case, inputs: &Values, want: &Want) -> Truth {
    let mut truth = sums(Shape::of(case), inputs, want);
    let columns = want.cols(Shape::of(case).n);
    if let Some(operand) = bias_of(case) {
        let bias = inputs.of(operand);
        for (at, &column) in (0..truth.value.len()).zip(columns.iter().cycle()) {
            truth.value[at] += bias[column];
            truth.scale[at] += bias[column].abs();
        }
    }
    let word = ACTIVATION.word(case);
    if word != "none" {
        for (value, scale) in truth.value.iter_mut().zip(&mut truth.scale) {
            (*value, *scale) = activated(word, *value, *scale);
        }
    }
    truth
}

/// An activation of a sum, and the scale of its error: the sum's error times the steepest slope
/// (1.13 of gelu), four roundings of the result, and what a subnormal step loses. Results that are
/// small because terms of the textbook's formula cancel are judged by the sum they come from.
fn activated(word: &str, sum: f64, scale: f64) -> (f64, f64) {
    use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};
    let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
    let value = match word {
        // Not `max`, which would lose a NaN; nothing is rounded.
        "relu" => {
            let finite = if scale.is_finite() { scale } else { 0.0 };
            return (if sum < 0.0 { 0.0 } else { sum }, finite);
        }
        "gelu" => sum * 0.5 * libm::erfc(-sum * FRAC_1_SQRT_2),
        "gelu_tanh" => {
            let cubic = sum + 0.044_715 * sum * sum * sum;
            sum * logistic(FRAC_2_SQRT_PI * SQRT_2 * cubic)
        }
        _ => sum * logistic(sum),
    };
    let scale = 1.13 * scale + 4.0 * value.abs() + UNDERFLOW;
    (value, if scale.is_finite() { scale } else { 0.0 })
}

/// Σ a·b and Σ|a||b| of the wanted elements.
fn sums(shape: Shape, inputs: &Values, want: &Want) -> Truth {
    let (left, right) = (inputs.of(LEFT), inputs.of(RIGHT));
    let rows = want.rows(shape.batches * shape.m);
    let columns = want.cols(shape.n);
    let mut truth = Truth::with_capacity(rows.len() * columns.len());
    for row in rows {
        let (batch, terms) = (row / shape.m, &left[row * shape.k..][..shape.k]);
        let first = truth.value.len();
        columns.iter().for_each(|_| truth.push(0.0, 0.0));
        let (value, scale) = (&mut truth.value[first..], &mut truth.scale[first..]);
        // In the order in which the right side lies in memory.
        if shape.is_transposed {
            for (at, &column) in columns.iter().enumerate() {
                let column = &right[shape.right_index(batch, 0, column)..][..shape.k];
                (value[at], scale[at]) = product(terms, column);
            }
            continue;
        }
        for (p, a) in terms.iter().enumerate() {
            let right = &right[shape.right_index(batch, p, 0)..][..shape.n];
            for (at, &column) in columns.iter().enumerate() {
                let term = a * right[column];
                value[at] += term;
                scale[at] += term.abs();
            }
        }
    }
    truth
}

/// Σ a·b and Σ|a||b| of two rows, in eight sums each, so that they need not wait for each other.
fn product(a: &[f64], b: &[f64]) -> (f64, f64) {
    let (mut values, mut scales) = ([0.0; 8], [0.0; 8]);
    let mut add = |at: usize, term: f64| {
        values[at] += term;
        scales[at] += term.abs();
    };
    let ((a, last_a), (b, last_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        (0..8).for_each(|at| add(at, a[at] * b[at]));
    }
    for (at, (a, b)) in last_a.iter().zip(last_b).enumerate() {
        add(at, a * b);
    }
    (values.iter().sum(), scales.iter().sum())
}

/// Freivalds' check (1977) with two vectors x of ±1: C·x = A·(B·x) for every row, in integers.
///
/// One wrong element in a row is always seen, any other wrong row with probability 3/4 at least.
/// Sums are modulo 2⁶⁴, which no difference of two elements is a multiple of.
/// `None` if the inputs are not whole numbers.
pub(super) fn freivalds(
    shape: Shape,
    inputs: &Values,
    output: &[f64],
    seed: u64,
) -> Option<Result<(), String>> {
    let is_exact = inputs.of(LEFT).iter().chain(inputs.of(RIGHT)).all(|&value| is_whole(value));
    if !is_exact {
        return None;
    }
    if let Some(at) = output.iter().position(|&value| !is_whole(value)) {
        let (row, column) = (at / shape.n, at % shape.n);
        return Some(Err(format!("row {row} column {column} is {}, no whole number", output[at])));
    }
    for stream in 0..2 {
        let sign = |column: usize| 1 - 2 * (mix(seed, stream, column as u64) >> 63) as i64;
        let signs: Vec<i64> = (0..shape.n).map(sign).collect();
        for batch in 0..shape.batches {
            let projected = project_right(shape, inputs.of(RIGHT), batch, &signs);
            for row in batch * shape.m..(batch + 1) * shape.m {
                let a = &inputs.of(LEFT)[row * shape.k..][..shape.k];
                let c = &output[row * shape.n..][..shape.n];
                let want = sum(a.iter().zip(&projected).map(|(&a, &b)| (a as i64).wrapping_mul(b)));
                let got = sum(c.iter().zip(&signs).map(|(&c, &sign)| c as i64 * sign));
                if got != want {
                    return Some(Err(format!(
                        "row {row}: its product with a vector of signs is {got}, not {want}"
                    )));
                }
            }
        }
    }
    Some(Ok(()))
}

/// B·x for one batch.
fn project_right(shape: Shape, right: &[f64], batch: usize, signs: &[i64]) -> Vec<i64> {
    let right = &right[shape.right_index(batch, 0, 0)..][..shape.k * shape.n];
    if !shape.is_transposed {
        let of_term = |row: &[f64]| sum(row.iter().zip(signs).map(|(&b, &sign)| b as i64 * sign));
        return right.chunks_exact(shape.n.max(1)).map(of_term).collect();
    }
    let mut projected = vec![0i64; shape.k];
    for (column, sign) in right.chunks_exact(shape.k.max(1)).zip(signs) {
        for (total, &b) in projected.iter_mut().zip(column) {
            *total = total.wrapping_add(b as i64 * sign);
        }
    }
    projected
}

fn sum(terms: impl Iterator<Item = i64>) -> i64 {
    terms.fold(0, i64::wrapping_add)
}

/// Whether the value is an integer that f64 holds exactly.
fn is_whole(value: f64) -> bool {
    value.abs() <= 2f64.powi(53) && value.fract() == 0.0
}
