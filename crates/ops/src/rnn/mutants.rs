//! Wrong recurrent layers that the gate must refuse: the plain loops with one slip each.

use super::definition::{Cell, Problem};
use crate::flawed::{mutant, read, read_densely, write};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::bf16;
use proofmark_terms::DType;

/// Lists of lines `Slip "name": flaw`: of both layers, of LSTM, of GRU.
macro_rules! mutants {
    (both { $($both:tt)* } lstm { $($lstm:tt)* } gru { $($gru:tt)* }) => {
        mutants!(@list LSTM, "Every mutant of lstm.", $($both)* $($lstm)*);
        mutants!(@list GRU, "Every mutant of gru.", $($both)* $($gru)*);
    };
    (@list $list:ident, $doc:literal, $($slip:ident $name:literal: $flaw:literal;)*) => {
        #[doc = $doc]
        pub(super) static $list: &[Mutant] =
            &[$(mutant!($name, &[DType::F32], $flaw, |call| run(call, Slip::$slip))),*];
    };
}

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slip {
    BiasForgotten,
    GatesExchanged,
    StateNotCarried,
    LastUnitDropped,
    LastInputDropped,
    LastStepStale,
    LastIsFirst,
    FirstSequence,
    HardSigmoid,
    InputsBf16,
    OutputBf16,
    NanSwallowed,
    LastUnitUnwritten,
    StepsReversed,
    StrideIgnored,
    WeightsTransposed,
    TangentForgotten,
    ForgetByOne,
    StateBeforeStep,
    OldState,
    ResetBeforeProduct,
    UpdateExchanged,
    ResetOfInputs,
    BiasOutside,
}

mutants! {
    both {
        BiasForgotten "bias_forgotten": "the bias of the outputs is not added";
        GatesExchanged "gates_exchanged": "the first two gates are exchanged";
        StateNotCarried "state_not_carried": "every step begins with the first state";
        LastUnitDropped "last_unit_dropped": "the last unit is not summed";
        LastInputDropped "last_input_dropped": "the last input is not summed";
        LastStepStale "last_step_stale": "the last step repeats the one before";
        LastIsFirst "last_is_first": "hn is the output of the first step";
        FirstSequence "first_sequence_for_all": "every sequence begins with the first's state";
        HardSigmoid "hard_sigmoid": "the sigmoid is a straight line, cut off";
        InputsBf16 "inputs_bf16": "inputs are rounded to bf16";
        OutputBf16 "output_bf16": "outputs are rounded to bf16 between steps";
        NanSwallowed "nan_swallowed": "the tangent is cut off so that NaN becomes 1";
        LastUnitUnwritten "last_unit_unwritten": "the last unit of y is not written";
        StepsReversed "steps_reversed": "inputs are taken from the last step to the first";
        StrideIgnored "row_stride_ignored": "rows of x are taken to lie densely";
        WeightsTransposed "weights_transposed": "the square weights of outputs are read turned";
    }
    lstm {
        TangentForgotten "tangent_forgotten": "the output is the gated state itself";
        ForgetByOne "forget_bias_one": "1 is added to the forget gate, as some libraries do";
        StateBeforeStep "state_before_step": "cn lacks the last step";
        OldState "old_state": "the output is of the state before the step";
    }
    gru {
        ResetBeforeProduct "reset_before_product": "outputs are reset before they are multiplied";
        UpdateExchanged "update_exchanged": "z weighs the new, 1 - z the old";
        ResetOfInputs "reset_of_inputs": "the sum over inputs is reset too";
        BiasOutside "bias_outside_reset": "the bias of the outputs is not reset";
    }
}

/// The operands of a call and the slip.
struct Layer {
    of: Problem,
    slip: Slip,
    weights: [Vec<Vec<f32>>; 2],
    biases: [Vec<f32>; 2],
}

impl Layer {
    fn sigmoid(&self, x: f32) -> f32 {
        match self.slip {
            Slip::HardSigmoid => (0.25 * x + 0.5).clamp(0.0, 1.0),
            _ => 1.0 / (1.0 + (-x).exp()),
        }
    }

    fn tanh(&self, x: f32) -> f32 {
        let y = x.tanh();
        // `min` prefers a number.
        if self.slip == Slip::NanSwallowed { y.min(1.0) } else { y }
    }

    /// Σ w·x of a gate, without bias.
    fn product(&self, side: usize, gate: usize, unit: usize, x: &[f32]) -> f32 {
        let gate = if self.slip == Slip::GatesExchanged && gate < 2 { 1 - gate } else { gate };
        let dropped = [Slip::LastInputDropped, Slip::LastUnitDropped][side] == self.slip;
        let count = x.len() - usize::from(dropped && !x.is_empty());
        let is_turned = side == 1 && self.slip == Slip::WeightsTransposed;
        let weight = |p: usize| match is_turned {
            true => self.weights[side][gate * self.of.units + p][unit],
            false => self.weights[side][gate * self.of.units + unit][p],
        };
        (0..count).map(|p| weight(p) * x[p]).sum()
    }

    fn bias(&self, side: usize, gate: usize, unit: usize) -> f32 {
        let gate = if self.slip == Slip::GatesExchanged && gate < 2 { 1 - gate } else { gate };
        let is_forgotten = side == 1 && self.slip == Slip::BiasForgotten;
        if is_forgotten { 0.0 } else { self.biases[side][gate * self.of.units + unit] }
    }

    fn sum(&self, side: usize, gate: usize, unit: usize, x: &[f32]) -> f32 {
        self.product(side, gate, unit, x) + self.bias(side, gate, unit)
    }

    /// One unit's output and state after a step.
    fn unit(&self, unit: usize, x: &[f32], h: &[f32], c: f32) -> (f32, f32) {
        let sum = |gate: usize| self.sum(0, gate, unit, x) + self.sum(1, gate, unit, h);
        if self.of.cell == Cell::Lstm {
            let one = if self.slip == Slip::ForgetByOne { 1.0 } else { 0.0 };
            let taken = self.sigmoid(sum(0)) * self.tanh(sum(2));
            let new = self.sigmoid(sum(1) + one) * c + taken;
            let seen = if self.slip == Slip::OldState { c } else { new };
            let seen = if self.slip == Slip::TangentForgotten { seen } else { self.tanh(seen) };
            return (self.sigmoid(sum(3)) * seen, new);
        }
        let (r, z) = (self.sigmoid(sum(0)), self.sigmoid(sum(1)));
        let of_x = self.sum(0, 2, unit, x);
        let n = match self.slip {
            Slip::ResetBeforeProduct => {
                let reset = |at: usize| {
                    let sum = self.sum(0, 0, at, x) + self.sum(1, 0, at, h);
                    self.sigmoid(sum) * h[at]
                };
                let h: Vec<f32> = (0..h.len()).map(reset).collect();
                of_x + self.sum(1, 2, unit, &h)
            }
            Slip::ResetOfInputs => r * (of_x + self.sum(1, 2, unit, h)),
            Slip::BiasOutside => of_x + r * self.product(1, 2, unit, h) + self.bias(1, 2, unit),
            _ => of_x + r * self.sum(1, 2, unit, h),
        };
        let n = self.tanh(n);
        let z = if self.slip == Slip::UpdateExchanged { 1.0 - z } else { z };
        ((1.0 - z) * n + z * h[unit], 0.0)
    }
}

fn to_bf16(value: f32) -> f32 {
    bf16::from_f32(value).to_f32()
}

fn run(call: &mut Call<'_>, slip: Slip) -> Result<(), KernelError> {
    let of = Problem::of(call.case);
    let [w_ih, w_hh, b_ih, b_hh] = of.weights();
    let row = |operand: usize| read(&call.inputs[operand]).concat();
    let weights = [read(&call.inputs[w_ih]), read(&call.inputs[w_hh])];
    let layer = Layer { of, slip, weights, biases: [row(b_ih), row(b_hh)] };
    let mut x = match slip {
        Slip::StrideIgnored => read_densely(&call.inputs[0]),
        _ => read(&call.inputs[0]),
    };
    if slip == Slip::InputsBf16 {
        x.iter_mut().flatten().for_each(|value| *value = to_bf16(*value));
    }
    let (h0, c0) = (read(&call.inputs[1]), read(&call.inputs[2]));
    let mut y: Vec<Vec<f32>> = Vec::new();
    let mut state = if of.cell == Cell::Lstm { c0 } else { vec![vec![0.0; of.units]; of.batch] };
    let mut earlier = state.clone();
    for at in 0..of.steps * of.batch {
        let (step, sequence) = (at / of.batch, at % of.batch);
        let from = if slip == Slip::StepsReversed { of.steps - 1 - step } else { step };
        let first = if slip == Slip::FirstSequence { 0 } else { sequence };
        let is_first = step == 0 || slip == Slip::StateNotCarried;
        let h = if is_first { h0[first].clone() } else { y[at - of.batch].clone() };
        let is_stale = slip == Slip::LastStepStale && step > 0 && step + 1 == of.steps;
        let mut out = vec![0.0; of.units];
        earlier[sequence].clone_from(&state[sequence]);
        for unit in 0..of.units {
            let c = state[sequence][unit];
            let (value, c) = layer.unit(unit, &x[from * of.batch + sequence], &h, c);
            out[unit] = if slip == Slip::OutputBf16 { to_bf16(value) } else { value };
            state[sequence][unit] = c;
        }
        y.push(if is_stale { h } else { out });
    }
    let last = match (of.steps, slip) {
        (0, _) => h0,
        (_, Slip::LastIsFirst) => y[..of.batch].to_vec(),
        _ => y[(of.steps - 1) * of.batch..].to_vec(),
    };
    if slip == Slip::LastUnitUnwritten {
        y.iter_mut().for_each(|row| row.truncate(of.units.saturating_sub(1)));
    }
    write(&mut call.outputs[0], &y);
    write(&mut call.outputs[1], &last);
    if of.cell == Cell::Lstm {
        write(&mut call.outputs[2], if slip == Slip::StateBeforeStep { &earlier } else { &state });
    }
    Ok(())
}
