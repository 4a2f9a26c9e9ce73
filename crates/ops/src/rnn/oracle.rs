//! The slow truth about recurrent layers in f64, unrolled, with the error that steps hand on.
#![forbid(unsafe_code)]

use super::definition::{Cell, Problem};
use proofmark_contract::{Truth, Values, Want};

/// The least f32 over its unit roundoff.
const UNDERFLOW: f64 = 1.0 / (1u128 << 125) as f64;

/// A value and the scale of its error.
#[derive(Clone, Copy, Default)]
struct Known {
    value: f64,
    scale: f64,
}

impl Known {
    /// An operand, which has no error.
    fn given(value: f64) -> Known {
        Known { value, scale: 0.0 }
    }

    fn plus(self, other: Known) -> Known {
        let value = self.value + other.value;
        Known { value, scale: self.scale + other.scale + value.abs() }
    }

    fn times(self, other: Known) -> Known {
        let value = self.value * other.value;
        let handed_on = self.value.abs() * other.scale + other.value.abs() * self.scale;
        Known { value, scale: handed_on + value.abs() }
    }

    /// A function of it with this slope there, within 2 units in the last place.
    fn through(self, value: f64, slope: f64) -> Known {
        // Where a function is flat, no error of its argument comes through.
        let handed_on = if slope == 0.0 { 0.0 } else { slope * self.scale };
        Known { value, scale: handed_on + 4.0 * value.abs() + UNDERFLOW }
    }

    fn sigmoid(self) -> Known {
        let value = 1.0 / (1.0 + (-self.value).exp());
        self.through(value, value * (1.0 - value))
    }

    fn tanh(self) -> Known {
        let value = self.value.tanh();
        self.through(value, 1.0 - value * value)
    }
}

/// The wanted elements of output 0 (each step's), 1 (the last step's) or 2 (the last state).
///
/// Sequences are independent, so only those that are wanted are computed, up to the last step that
/// is wanted. The scale of a sum is that of a product of matrices; errors of the step before count
/// with the magnitudes of the weights that they meet.
pub(super) fn truth(of: Problem, inputs: &Values, output: usize, want: &Want) -> Truth {
    let (batch, columns) = (of.batch.max(1), want.cols(of.units));
    let rows = want.rows(if output == 0 { of.steps * of.batch } else { of.batch });
    let mut found = vec![Vec::new(); rows.len()];
    for sequence in 0..of.batch {
        let own: Vec<usize> = (0..rows.len()).filter(|&at| rows[at] % batch == sequence).collect();
        let steps = match (own.is_empty(), output) {
            (true, _) => continue,
            (false, 0) => own.iter().map(|&at| rows[at] / batch + 1).max().unwrap_or(0),
            _ => of.steps,
        };
        let mut state = State::first(of, inputs, sequence);
        for step in 0..steps {
            state.step(of, inputs, step * of.batch + sequence);
            for &at in own.iter().filter(|&&at| output == 0 && rows[at] / batch == step) {
                found[at] = columns.iter().map(|&unit| state.h[unit]).collect();
            }
        }
        for at in own.into_iter().filter(|_| output > 0) {
            let kept = if output == 1 { &state.h } else { &state.c };
            found[at] = columns.iter().map(|&unit| kept[unit]).collect();
        }
    }
    let mut truth = Truth::with_capacity(rows.len() * columns.len());
    for Known { value, scale } in found.into_iter().flatten() {
        truth.push(value, if scale.is_finite() { scale } else { 0.0 });
    }
    truth
}

/// Output and state of one sequence.
struct State {
    h: Vec<Known>,
    c: Vec<Known>,
}

impl State {
    fn first(of: Problem, inputs: &Values, sequence: usize) -> State {
        let of_sequence = |operand: usize| {
            let given = &inputs.of(operand)[sequence * of.units..][..of.units];
            given.iter().map(|&value| Known::given(value)).collect()
        };
        let c = if of.cell == Cell::Lstm { of_sequence(2) } else { Vec::new() };
        State { h: of_sequence(1), c }
    }

    fn step(&mut self, of: Problem, inputs: &Values, row: usize) {
        let [w_ih, w_hh, b_ih, b_hh] = of.weights().map(|operand| inputs.of(operand));
        let x = &inputs.of(0)[row * of.inputs..][..of.inputs];
        let x: Vec<Known> = x.iter().map(|&value| Known::given(value)).collect();
        let of_x = |gate: usize, unit: usize| {
            let row = gate * of.units + unit;
            product(&w_ih[row * of.inputs..][..of.inputs], &x, b_ih[row])
        };
        let before = self.h.clone();
        let of_h = |gate: usize, unit: usize| {
            let row = gate * of.units + unit;
            product(&w_hh[row * of.units..][..of.units], &before, b_hh[row])
        };
        for unit in 0..of.units {
            let sum = |gate: usize| of_x(gate, unit).plus(of_h(gate, unit));
            match of.cell {
                Cell::Lstm => {
                    let kept = sum(1).sigmoid().times(self.c[unit]);
                    let c = kept.plus(sum(0).sigmoid().times(sum(2).tanh()));
                    self.c[unit] = c;
                    self.h[unit] = sum(3).sigmoid().times(c.tanh());
                }
                Cell::Gru => {
                    let (r, z) = (sum(0).sigmoid(), sum(1).sigmoid());
                    let n = of_x(2, unit).plus(r.times(of_h(2, unit))).tanh();
                    // (1 − z)·n + z·h, or n + z·(h − n): as many roundings.
                    let rest = Known { value: 1.0 - z.value, scale: z.scale + 1.0 };
                    self.h[unit] = rest.times(n).plus(z.times(before[unit]));
                }
            }
        }
    }
}

/// Σ w·x and a bias.
fn product(weights: &[f64], x: &[Known], bias: f64) -> Known {
    let (mut value, mut scale) = (bias, bias.abs());
    for (weight, x) in weights.iter().zip(x) {
        value += weight * x.value;
        scale += weight.abs() * (x.value.abs() + x.scale);
    }
    Known { value, scale }
}
