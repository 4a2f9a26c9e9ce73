//! The slow truth about products in f64, and Freivalds' check of whole results.
//!
//! Products of f32 and bf16 are exact in f64; a sum of k of them is off by at most
//! k·2⁻⁵³·Σ|a||b|, which is 2⁻²⁹·k of the unit that kernels are judged by.
#![forbid(unsafe_code)]

use super::definition::{LEFT, RIGHT, Shape};
use proofmark_contract::{Truth, Values, Want};
use proofmark_tensor::mix;

/// Σ a·b and Σ|a||b| of the wanted elements.
pub(super) fn truth(shape: Shape, inputs: &Values, want: &Want) -> Truth {
    let (left, right) = (inputs.of(LEFT), inputs.of(RIGHT));
    let rows = want.rows(shape.batches * shape.m);
    let columns = want.cols(shape.n);
    let mut truth = Truth::with_capacity(rows.len() * columns.len());
    for row in rows {
        let (batch, terms) = (row / shape.m, &left[row * shape.k..][..shape.k]);
        let first = truth.value.len();
        columns.iter().for_each(|_| truth.push(0.0, 0.0));
        let (value, scale) = (&mut truth.value[first..], &mut truth.scale[first..]);
        for (p, a) in terms.iter().enumerate() {
            for (at, &column) in columns.iter().enumerate() {
                let term = a * right[shape.right_index(batch, p, column)];
                value[at] += term;
                scale[at] += term.abs();
            }
        }
    }
    truth
}

/// Freivalds' check (1977) with two vectors x of ±1: C·x = A·(B·x) for every row, in integers.
///
/// One wrong element in a row is always seen, any other wrong row with probability 3/4 at least.
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
        let signs = |column: usize| mix(seed, stream, column as u64) >> 63 == 1;
        for batch in 0..shape.batches {
            let projected = project_right(shape, inputs.of(RIGHT), batch, &signs);
            for row in batch * shape.m..(batch + 1) * shape.m {
                let a = &inputs.of(LEFT)[row * shape.k..][..shape.k];
                let c = &output[row * shape.n..][..shape.n];
                let want: i128 =
                    a.iter().zip(&projected).map(|(&a, &b)| i128::from(a as i64) * b).sum();
                let got: i128 = c.iter().enumerate().map(|(j, &c)| signed(c, signs(j))).sum();
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
fn project_right(
    shape: Shape,
    right: &[f64],
    batch: usize,
    signs: &impl Fn(usize) -> bool,
) -> Vec<i128> {
    let of_term = |p: usize| -> i128 {
        (0..shape.n).map(|j| signed(right[shape.right_index(batch, p, j)], signs(j))).sum()
    };
    (0..shape.k).map(of_term).collect()
}

fn signed(value: f64, is_negative: bool) -> i128 {
    let value = i128::from(value as i64);
    if is_negative { -value } else { value }
}

/// Whether the value is an integer that f64 holds exactly.
fn is_whole(value: f64) -> bool {
    value.abs() <= 2f64.powi(53) && value.fract() == 0.0
}
