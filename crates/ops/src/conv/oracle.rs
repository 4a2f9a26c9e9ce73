//! The slow truth about convolutions in f64, and a check of whole results.
//!
//! Products of f32 are exact in f64; a sum of k of them is off by 2⁻²⁹·k of the unit that
//! kernels are judged by.
#![forbid(unsafe_code)]

use super::definition::{BIAS, Problem, WEIGHTS, X};
use proofmark_contract::{Truth, Values, Want};
use proofmark_tensor::mix;

/// Sums and the sums of magnitudes of the wanted elements; taps on padding add nothing.
///
/// Winograd's algorithm multiplies sums of a square's elements by sums of weights. What cancels in
/// it is bounded by the magnitudes of a channel's square times those of its weights.
pub(super) fn truth(of: Problem, inputs: &Values, want: &Want) -> Truth {
    let [height, width] = of.result;
    let (rows, columns) = (want.rows(of.batches * of.outputs * height), want.cols(width));
    let mut truth = Truth::with_capacity(rows.len() * columns.len());
    let squares = of.has_squares().then(|| Squares::new(of, inputs));
    for row in rows {
        let (image, output, i) =
            (row / height / of.outputs, row / height % of.outputs, row % height);
        let bias = if of.has_bias { inputs.of(BIAS)[output] } else { 0.0 };
        for &j in &columns {
            let (mut value, mut scale) = (bias, bias.abs());
            each_term(of, image, output, [i, j], |x, w| {
                let term = inputs.of(X)[x] * inputs.of(WEIGHTS)[w];
                value += term;
                scale += term.abs();
            });
            // What is not finite is judged by its class alone.
            truth.push(value, if scale.is_finite() { scale } else { 0.0 });
            if let Some(squares) = &squares {
                let cancelled = squares.magnitude(image, output, [i / 2, j / 2]);
                truth.forgiven.push(if cancelled.is_finite() { cancelled } else { 0.0 });
            }
        }
    }
    truth
}

/// The positions in x and in the weights of each term of a result that is not padding.
fn each_term(
    of: Problem,
    image: usize,
    output: usize,
    at: [usize; 2],
    mut term: impl FnMut(usize, usize),
) {
    let inputs = of.group_inputs();
    let first = image * of.channels + output / of.group_outputs() * inputs;
    for c in 0..inputs {
        for ki in 0..of.taps[0] {
            let Some(row) = of.place(0, at[0], ki) else { continue };
            for kj in 0..of.taps[1] {
                let Some(column) = of.place(1, at[1], kj) else { continue };
                let w = ((output * inputs + c) * of.taps[0] + ki) * of.taps[1] + kj;
                term((first + c) * of.area() + row * of.size[1] + column, w);
            }
        }
    }
}

/// Sums of magnitudes of the squares of each channel, and of the weights of each channel.
struct Squares {
    of: Problem,
    squares: Vec<f64>,
    weights: Vec<f64>,
}

impl Squares {
    fn new(of: Problem, inputs: &Values) -> Squares {
        let sum = |values: &[f64]| values.iter().map(|value| value.abs()).sum::<f64>();
        let [down, across] = of.result.map(|size| size.div_ceil(2));
        let mut squares = Vec::with_capacity(of.batches * of.channels * down * across);
        for channel in inputs.of(X).chunks_exact(of.area().max(1)) {
            for square in 0..down * across {
                let [i, j] = [square / across * 2, square % across * 2];
                let rows = (0..4).filter_map(|k| of.place(0, i, k));
                let of_row = |row: usize| -> f64 {
                    let columns = (0..4).filter_map(|k| of.place(1, j, k));
                    columns.map(|column| channel[row * of.size[1] + column].abs()).sum()
                };
                squares.push(rows.map(of_row).sum());
            }
        }
        Squares { of, squares, weights: inputs.of(WEIGHTS).chunks(9).map(sum).collect() }
    }

    fn magnitude(&self, image: usize, output: usize, [i, j]: [usize; 2]) -> f64 {
        let (channels, [down, across]) = (self.of.channels, self.of.result.map(|s| s.div_ceil(2)));
        let weights = &self.weights[output * channels..][..channels];
        let square = |c: usize| self.squares[((image * channels + c) * down + i) * across + j];
        weights.iter().enumerate().map(|(c, weight)| weight * square(c)).sum()
    }
}

/// Freivalds' check (1977) on channels: their sum with random signs is the convolution with the
/// sum of their weights with the same signs. In whole numbers, modulo 2⁶⁴.
///
/// One wrong channel at a position is always seen, any other error with probability 1/2 at least.
/// `None` if the inputs are not whole numbers.
pub(super) fn audit(
    of: Problem,
    inputs: &Values,
    output: &[f64],
    seed: u64,
) -> Option<Result<(), String>> {
    let is_whole = |&value: &f64| value.abs() <= 2f64.powi(53) && value.fract() == 0.0;
    if !inputs.tensors.iter().flatten().all(is_whole) {
        return None;
    }
    if !output.iter().all(is_whole) {
        return Some(Err("a sum of whole numbers is no whole number".to_owned()));
    }
    let sign = |o: usize| 1 - 2 * (mix(seed, 3, o as u64) >> 63) as i64;
    let (each, terms) = (of.group_outputs(), of.terms());
    for group in (0..of.groups).filter(|_| each > 0) {
        let own = group * each..(group + 1) * each;
        let folded: Vec<i64> = (0..terms)
            .map(|p| own.clone().map(|o| inputs.of(WEIGHTS)[o * terms + p] as i64 * sign(o)).sum())
            .collect();
        let bias = |o: usize| if of.has_bias { inputs.of(BIAS)[o] as i64 } else { 0 };
        let bias: i64 = own.clone().map(|o| bias(o) * sign(o)).sum();
        for at in 0..of.batches * of.result_area() {
            let (image, place) = (at / of.result_area(), at % of.result_area());
            let (mut want, row) = (bias, [place / of.result[1], place % of.result[1]]);
            each_term(of, image, own.start, row, |x, w| {
                let folded = folded[w - own.start * terms];
                want = want.wrapping_add((inputs.of(X)[x] as i64).wrapping_mul(folded));
            });
            let y = |o: usize| output[(image * of.outputs + o) * of.result_area() + place] as i64;
            let got: i64 = own.clone().map(|o| y(o) * sign(o)).sum();
            if got != want {
                return Some(Err(format!(
                    "image {image}, group {group}, row {} column {}: the sum of its channels with \
                     random signs is {got}, not {want}",
                    row[0], row[1]
                )));
            }
        }
    }
    Some(Ok(()))
}
