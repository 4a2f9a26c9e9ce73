//! The slow truth about recurrent layers in f64, unrolled, with the error that steps hand on.
#![forbid(unsafe_code)]

use super::definition::{Cell, Problem};
use proofmark_contract::{Truth, Values, Want};
use proofmark_tensor::mix;

/// The least f32 over its unit roundoff.
const UNDERFLOW: f64 = 1.0 / (1u128 << 125) as f64;

/// Error patterns that are followed through the steps, each with its own signs: all equal,
/// alternating from step to step, and drawn at random.
const DISTURBANCES: usize = 16;

/// The same for what is forgiven.
const FORGIVEN: usize = 4;

/// How many of them are not drawn at random.
const ALIKE: usize = 2;

/// All patterns: those of every kernel, then those of what is forgiven.
type Patterns = [f32; DISTURBANCES + FORGIVEN];

/// A value, the scale of the error made in this step, and what became of earlier steps' errors.
///
/// Worst cases of earlier steps must not be added up: each step would multiply them by Σ|w|, which
/// is √h/2 where weights are as large as they are initialised, and after ten steps any output would
/// pass. The signs of the errors decide, so errors with given signs are propagated through the
/// exact derivatives of the steps (Monte Carlo arithmetic: Parker, 1997, to first order).
///
/// A sigmoid as the textbook computes it, `1/2 + tanh(x/2)/2`, loses what is small compared with 1.
/// That error is followed separately, because only some contenders are forgiven it.
#[derive(Clone, Copy, Default)]
struct Known {
    value: f64,
    fresh: f64,
    forgiven: f64,
    handed_on: Patterns,
}

impl Known {
    /// An operand, which has no error.
    fn given(value: f64) -> Known {
        Known { value, ..Known::default() }
    }

    fn plus(self, other: Known) -> Known {
        let value = self.value + other.value;
        let fresh = self.fresh + other.fresh + value.abs();
        let forgiven = self.forgiven + other.forgiven;
        let handed_on = std::array::from_fn(|k| self.handed_on[k] + other.handed_on[k]);
        Known { value, fresh, forgiven, handed_on }
    }

    fn times(self, other: Known) -> Known {
        let value = self.value * other.value;
        let fresh = self.value.abs() * other.fresh + other.value.abs() * self.fresh + value.abs();
        let forgiven = self.value.abs() * other.forgiven + other.value.abs() * self.forgiven;
        let [one, two] = [self.value as f32, other.value as f32];
        let handed_on = std::array::from_fn(|k| one * other.handed_on[k] + two * self.handed_on[k]);
        Known { value, fresh, forgiven, handed_on }
    }

    /// One minus the value.
    fn complement(self) -> Known {
        let handed_on = self.handed_on.map(|error| -error);
        Known { value: 1.0 - self.value, fresh: self.fresh + 1.0, handed_on, ..self }
    }

    /// A function of it with this slope there, within 2 units in the last place.
    fn through(self, value: f64, slope: f64) -> Known {
        // Where a function is flat, it passes on no error of its argument, not even an infinite
        // one.
        let comes = |error: f64| if slope == 0.0 { 0.0 } else { slope * error };
        let fresh = comes(self.fresh) + 4.0 * value.abs() + UNDERFLOW;
        let handed_on = self.handed_on.map(|error| comes(f64::from(error)) as f32);
        Known { value, fresh, forgiven: comes(self.forgiven), handed_on }
    }

    fn sigmoid(self) -> Known {
        let value = 1.0 / (1.0 + (-self.value).exp());
        let known = self.through(value, value * (1.0 - value));
        Known { forgiven: known.forgiven + 1.0, ..known }
    }

    fn tanh(self) -> Known {
        let value = self.value.tanh();
        self.through(value, 1.0 - value * value)
    }

    /// The scale of its error: that of its own step, and three deviations of the random patterns.
    fn scale(self) -> f64 {
        let (alike, drawn) = self.handed_on[..DISTURBANCES].split_at(ALIKE);
        self.fresh + greatest(alike) + 3.0 * deviation(drawn)
    }

    /// What is added to the scale of a contender that loses what is small compared with 1 in a
    /// sigmoid. There are few patterns, so those that are alike count as drawn ones too.
    fn forgiven(self) -> f64 {
        let patterns = &self.handed_on[DISTURBANCES..];
        self.forgiven + greatest(&patterns[..ALIKE]) + 3.0 * deviation(patterns)
    }

    /// The value as the next step takes it: its own errors join those handed on, with drawn signs.
    fn kept(self, step: usize, unit: usize) -> Known {
        let lot = mix(0, step as u64, unit as u64);
        let handed_on = std::array::from_fn(|k| {
            let (at, fresh) = match k.checked_sub(DISTURBANCES) {
                None => (k, self.fresh as f32),
                Some(at) => (at, self.forgiven as f32),
            };
            let minus = match at {
                0 => false,
                1 => step % 2 == 1,
                _ => lot >> k & 1 == 1,
            };
            self.handed_on[k] + if minus { -fresh } else { fresh }
        });
        Known { value: self.value, fresh: 0.0, forgiven: 0.0, handed_on }
    }
}

fn greatest(errors: &[f32]) -> f64 {
    f64::from(errors.iter().fold(0.0, |most: f32, error| most.max(error.abs())))
}

fn deviation(errors: &[f32]) -> f64 {
    let squares = errors.iter().map(|&error| f64::from(error).powi(2)).sum::<f64>();
    (squares / errors.len() as f64).sqrt()
}

/// The wanted elements of output 0 (each step's), 1 (the last step's) or 2 (the last state).
///
/// Sequences are independent, so only those that are wanted are computed, up to the last step that
/// is wanted. The scale of a sum is that of a product of matrices.
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
            state.step(of, inputs, sequence, step);
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
    let finite = |scale: f64| if scale.is_finite() { scale } else { 0.0 };
    for known in found.into_iter().flatten() {
        truth.push(known.value, finite(known.scale()));
        truth.forgiven.push(finite(known.forgiven()));
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

    fn step(&mut self, of: Problem, inputs: &Values, sequence: usize, step: usize) {
        let [w_ih, w_hh, b_ih, b_hh] = of.weights().map(|operand| inputs.of(operand));
        let x = &inputs.of(0)[(step * of.batch + sequence) * of.inputs..][..of.inputs];
        let of_x = |gate: usize, unit: usize| {
            let row = gate * of.units + unit;
            product(&w_ih[row * of.inputs..][..of.inputs], x, b_ih[row])
        };
        let kept = |known: (usize, &Known)| known.1.kept(step, known.0);
        let before: Vec<Known> = self.h.iter().enumerate().map(kept).collect();
        let h: Vec<f64> = before.iter().map(|known| known.value).collect();
        let of_h = |gate: usize, unit: usize| {
            let row = gate * of.units + unit;
            let weights = &w_hh[row * of.units..][..of.units];
            let handed_on = disturbed(weights, &before);
            Known { handed_on, ..product(weights, &h, b_hh[row]) }
        };
        for unit in 0..of.units {
            let sum = |gate: usize| of_x(gate, unit).plus(of_h(gate, unit));
            match of.cell {
                Cell::Lstm => {
                    let stays = sum(1).sigmoid().times(self.c[unit].kept(step, unit));
                    let c = stays.plus(sum(0).sigmoid().times(sum(2).tanh()));
                    self.c[unit] = c;
                    self.h[unit] = sum(3).sigmoid().times(c.tanh());
                }
                Cell::Gru => {
                    let (r, z) = (sum(0).sigmoid(), sum(1).sigmoid());
                    let n = of_x(2, unit).plus(r.times(of_h(2, unit))).tanh();
                    // (1 − z)·n + z·h, or n + z·(h − n): as many roundings.
                    self.h[unit] = z.complement().times(n).plus(z.times(before[unit]));
                }
            }
        }
    }
}

/// Σ w·x and a bias, of values without errors.
fn product(weights: &[f64], x: &[f64], bias: f64) -> Known {
    // Several partial sums are kept, because in one chain each addition would wait for the last.
    let (mut values, mut scales) = ([0.0; 8], [0.0; 8]);
    let mut add = |at: usize, term: f64| {
        values[at] += term;
        scales[at] += term.abs();
    };
    let ((weights, last_weights), (x, last_x)) = (weights.as_chunks::<8>(), x.as_chunks::<8>());
    for (weights, x) in weights.iter().zip(x) {
        (0..8).for_each(|at| add(at, weights[at] * x[at]));
    }
    for (at, (weight, x)) in last_weights.iter().zip(last_x).enumerate() {
        add(at, weight * x);
    }
    let [value, fresh] = [values, scales].map(|sums| sums.iter().sum::<f64>());
    Known { value: bias + value, fresh: bias.abs() + fresh, ..Known::default() }
}

/// Σ w·error of each disturbance.
fn disturbed(weights: &[f64], x: &[Known]) -> Patterns {
    let mut sums = Patterns::default();
    for (&weight, x) in weights.iter().zip(x) {
        let weight = weight as f32;
        sums = std::array::from_fn(|k| sums[k] + weight * x.handed_on[k]);
    }
    sums
}
