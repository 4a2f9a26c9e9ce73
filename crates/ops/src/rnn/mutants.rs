//! Wrong recurrent layers that the gate must refuse: the plain loops with one slip each.

use super::definition::{Cell, Problem};
use crate::flawed::{
    Read, SINGLE, all_but_last, mutants, narrowed, read, read_as, read_densely, stale, steps, write,
};
use proofmark_contract::{Call, KernelError, Mutant};

steps! { Steps, RIGHT;
    /// Reads x.
    read: Read = read,
    sigmoid: fn(f32) -> f32 = |x| 1.0 / (1.0 + (-x).exp()),
    tanh: fn(f32) -> f32 = f32::tanh,
    /// The gate whose weights and biases a gate gets.
    gate: fn(usize) -> usize = |gate| gate,
    /// How many terms the sums over inputs and over units have.
    terms: [fn(usize) -> usize; 2] = [|inputs| inputs, |units| units],
    /// Whether the weights of units are read transposed.
    is_transposed: bool = false,
    /// The bias of inputs (0) or of units (1).
    bias: fn(usize, f32) -> f32 = |_, bias| bias,
    /// What is added to the forget gate.
    forget: f32 = 0.0,
    /// The state that an output is made of, given the one before and the new one.
    seen: fn(f32, f32) -> f32 = |_, new| new,
    /// Whether an output is made of the tangent of the state.
    is_bent: bool = true,
    /// The sum of a new gate, of a unit, x, h and the reset gate.
    renewed: fn(&Layer<'_>, usize, &[f32], &[f32], f32) -> f32 = |layer, unit, x, h, r| {
        layer.sum(0, 2, unit, x) + r * layer.sum(1, 2, unit, h)
    },
    update: fn(f32) -> f32 = |z| z,
    output: fn(f32) -> f32 = |value| value,
    /// The step whose input is read, of all steps.
    from: fn(usize, usize) -> usize = |step, _| step,
    /// The sequence whose first state a sequence begins with.
    first: fn(usize) -> usize = |sequence| sequence,
    /// Whether a step begins with the first state.
    begins: fn(usize) -> bool = |step| step == 0,
    /// The step whose output a step gets, of all steps: its own or the one before.
    kept: fn(usize, usize) -> usize = |step, _| step,
    /// The step that hn is the output of, of all steps.
    last: fn(usize) -> usize = |steps| steps - 1,
    /// Units of y that are written.
    written: fn(usize) -> usize = |units| units,
    /// Whether cn lacks the last step.
    is_early: bool = false,
}

/// Every mutant of both layers.
const BOTH: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "bias_forgotten", SINGLE, "the bias of the outputs is not added",
        bias: |side, bias| if side == 1 { 0.0 } else { bias };
    "gates_exchanged", SINGLE, "the first two gates are exchanged",
        gate: |gate| if gate < 2 { 1 - gate } else { gate };
    "state_not_carried", SINGLE, "every step begins with the first state", begins: |_| true;
    "last_unit_dropped", SINGLE, "the last unit is not summed",
        terms: [|inputs| inputs, all_but_last];
    "last_input_dropped", SINGLE, "the last input is not summed",
        terms: [all_but_last, |units| units];
    "last_step_stale", SINGLE, "the last step repeats the one before", kept: stale;
    "last_is_first", SINGLE, "hn is the output of the first step", last: |_| 0;
    "first_sequence_for_all", SINGLE, "every sequence begins with the first's state", first: |_| 0;
    "hard_sigmoid", SINGLE, "the sigmoid is a straight line, cut off",
        sigmoid: |x| (0.25 * x + 0.5).clamp(0.0, 1.0);
    "inputs_bf16", SINGLE, "inputs are rounded to bf16", read: |x| read_as(x, narrowed);
    "output_bf16", SINGLE, "outputs are rounded to bf16 between steps", output: narrowed;
    // `min` prefers a number.
    "nan_swallowed", SINGLE, "the tangent is cut off so that NaN becomes 1",
        tanh: |x| x.tanh().min(1.0);
    "last_unit_unwritten", SINGLE, "the last unit of y is not written", written: all_but_last;
    "steps_reversed", SINGLE, "inputs are taken from the last step to the first",
        from: |step, steps| steps - 1 - step;
    "row_stride_ignored", SINGLE, "rows of x are taken to lie densely", read: read_densely;
    "weights_transposed", SINGLE, "the square weights of outputs are read turned",
        is_transposed: true;
};

/// Every mutant of lstm.
pub(super) static LSTM: &[Mutant] = mutants! { after BOTH; run, Steps { ..RIGHT };
    "tangent_forgotten", SINGLE, "the output is the gated state itself", is_bent: false;
    "forget_bias_one", SINGLE, "1 is added to the forget gate, as some libraries do", forget: 1.0;
    "state_before_step", SINGLE, "cn lacks the last step", is_early: true;
    "old_state", SINGLE, "the output is of the state before the step", seen: |old, _| old;
};

/// Every mutant of gru.
pub(super) static GRU: &[Mutant] = mutants! { after BOTH; run, Steps { ..RIGHT };
    "reset_before_product", SINGLE, "outputs are reset before they are multiplied",
        renewed: |layer, unit, x, h, _| {
            let reset = |at: usize| {
                let sum = layer.sum(0, 0, at, x) + layer.sum(1, 0, at, h);
                (layer.steps.sigmoid)(sum) * h[at]
            };
            let h: Vec<f32> = (0..h.len()).map(reset).collect();
            layer.sum(0, 2, unit, x) + layer.sum(1, 2, unit, &h)
        };
    "update_exchanged", SINGLE, "z weighs the new, 1 - z the old", update: |z| 1.0 - z;
    "reset_of_inputs", SINGLE, "the sum over inputs is reset too",
        renewed: |layer, unit, x, h, r| r * (layer.sum(0, 2, unit, x) + layer.sum(1, 2, unit, h));
    "bias_outside_reset", SINGLE, "the bias of the outputs is not reset",
        renewed: |layer, unit, x, h, r| {
            let product = layer.product(1, 2, unit, h);
            layer.sum(0, 2, unit, x) + r * product + layer.bias(1, 2, unit)
        };
};

/// The operands of a call and its steps.
struct Layer<'a> {
    of: Problem,
    steps: &'a Steps,
    weights: [Vec<Vec<f32>>; 2],
    biases: [Vec<f32>; 2],
}

impl Layer<'_> {
    /// Σ w·x of a gate, without bias.
    fn product(&self, side: usize, gate: usize, unit: usize, x: &[f32]) -> f32 {
        let first = (self.steps.gate)(gate) * self.of.units;
        let is_transposed = side == 1 && self.steps.is_transposed;
        let weight = |p: usize| match is_transposed {
            true => self.weights[side][first + p][unit],
            false => self.weights[side][first + unit][p],
        };
        (0..(self.steps.terms[side])(x.len())).map(|p| weight(p) * x[p]).sum()
    }

    fn bias(&self, side: usize, gate: usize, unit: usize) -> f32 {
        (self.steps.bias)(side, self.biases[side][(self.steps.gate)(gate) * self.of.units + unit])
    }

    fn sum(&self, side: usize, gate: usize, unit: usize, x: &[f32]) -> f32 {
        self.product(side, gate, unit, x) + self.bias(side, gate, unit)
    }

    /// One unit's output and state after a step.
    fn unit(&self, unit: usize, x: &[f32], h: &[f32], c: f32) -> (f32, f32) {
        let Steps { sigmoid, tanh, .. } = self.steps;
        let sum = |gate: usize| self.sum(0, gate, unit, x) + self.sum(1, gate, unit, h);
        if self.of.cell == Cell::Lstm {
            let taken = sigmoid(sum(0)) * tanh(sum(2));
            let new = sigmoid(sum(1) + self.steps.forget) * c + taken;
            let seen = (self.steps.seen)(c, new);
            return (sigmoid(sum(3)) * if self.steps.is_bent { tanh(seen) } else { seen }, new);
        }
        let (r, z) = (sigmoid(sum(0)), (self.steps.update)(sigmoid(sum(1))));
        let n = tanh((self.steps.renewed)(self, unit, x, h, r));
        ((1.0 - z) * n + z * h[unit], 0.0)
    }
}

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let of = Problem::of(call.case);
    let [w_ih, w_hh, b_ih, b_hh] = of.weights();
    let row = |operand: usize| read(&call.inputs[operand]).concat();
    let weights = [read(&call.inputs[w_ih]), read(&call.inputs[w_hh])];
    let layer = Layer { of, steps, weights, biases: [row(b_ih), row(b_hh)] };
    let x = (steps.read)(&call.inputs[0]);
    let (h0, c0) = (read(&call.inputs[1]), read(&call.inputs[2]));
    let mut y: Vec<Vec<f32>> = Vec::new();
    let mut state = if of.cell == Cell::Lstm { c0 } else { vec![vec![0.0; of.units]; of.batch] };
    let mut earlier = state.clone();
    for at in 0..of.steps * of.batch {
        let (step, sequence) = (at / of.batch, at % of.batch);
        let x = &x[(steps.from)(step, of.steps) * of.batch + sequence];
        let begins = (steps.begins)(step);
        let h = if begins { &h0[(steps.first)(sequence)] } else { &y[at - of.batch] };
        let mut out = vec![0.0; of.units];
        earlier[sequence].clone_from(&state[sequence]);
        for unit in 0..of.units {
            let (value, c) = layer.unit(unit, x, h, state[sequence][unit]);
            out[unit] = (steps.output)(value);
            state[sequence][unit] = c;
        }
        let is_stale = (steps.kept)(step, of.steps) != step;
        let output = if is_stale { h.clone() } else { out };
        y.push(output);
    }
    let last = match of.steps {
        0 => h0,
        count => y[(steps.last)(count) * of.batch..][..of.batch].to_vec(),
    };
    y.iter_mut().for_each(|row| row.truncate((steps.written)(of.units)));
    write(&mut call.outputs[0], &y)?;
    write(&mut call.outputs[1], &last)?;
    if of.cell == Cell::Lstm {
        write(&mut call.outputs[2], if steps.is_early { &earlier } else { &state })?;
    }
    Ok(())
}
