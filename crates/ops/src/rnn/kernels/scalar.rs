//! One unit after the other: the kernel that does every case anywhere.
//!
//! Idea: the formula as it stands, each sum in one chain of f32, outputs before read from where
//! they were written. 2 flops a weight, each weight read once a step and sequence.

use super::cell::{gru, lstm};
use crate::blocks::made::Made;
use crate::rnn::definition::{Cell, Problem};
use proofmark_contract::{Call, KernelError};
use proofmark_simd::Scalar as OneLane;
use proofmark_tensor::{Rows, RowsMut, Tensor};

/// The kernel.
pub(crate) static SCALAR: Made = Made::scalar("plain loops, one f32 sum for each gate", run);

/// The operands that every kernel reads: x, the first output, the weights and the biases.
pub(super) struct Given<'a> {
    pub(super) x: Rows<'a, f32>,
    pub(super) h0: Rows<'a, f32>,
    pub(super) weights: [Rows<'a, f32>; 2],
    pub(super) biases: [&'a [f32]; 2],
}

impl<'a> Given<'a> {
    pub(super) fn of(inputs: &'a [Tensor], of: Problem) -> Result<Given<'a>, KernelError> {
        let rows = |operand: usize| inputs[operand].rows::<f32>();
        let [w_ih, w_hh, b_ih, b_hh] = of.weights();
        Ok(Given {
            x: rows(0)?,
            h0: rows(1)?,
            weights: [rows(w_ih)?, rows(w_hh)?],
            biases: [rows(b_ih)?.row(0), rows(b_hh)?.row(0)],
        })
    }
}

/// Where every kernel writes: each output, the last one, and the state of an LSTM, which holds the
/// first state when this returns.
pub(super) type Taken<'a> = (RowsMut<'a, f32>, RowsMut<'a, f32>, Option<RowsMut<'a, f32>>);

/// The written operands of a call.
pub(super) fn taken<'a>(
    inputs: &[Tensor],
    outputs: &'a mut [Tensor],
    of: Problem,
) -> Result<Taken<'a>, KernelError> {
    let [y, hn, rest @ ..] = outputs else {
        return Err(KernelError::Refused("the layer has two outputs or three".to_owned()));
    };
    let c = match (of.cell, rest) {
        (Cell::Lstm, [cn]) => {
            let (c0, mut c) = (inputs[2].rows::<f32>()?, cn.rows_mut::<f32>()?);
            (0..of.batch).for_each(|row| c.row_mut(row).copy_from_slice(c0.row(row)));
            Some(c)
        }
        _ => None,
    };
    Ok((y.rows_mut()?, hn.rows_mut()?, c))
}

/// Copies the last output, or the first if there are no steps.
pub(super) fn finish(
    of: Problem,
    h0: Rows<'_, f32>,
    y: &RowsMut<'_, f32>,
    hn: &mut RowsMut<'_, f32>,
) {
    for row in 0..of.batch {
        let last = match of.steps {
            0 => h0.row(row),
            steps => y.row((steps - 1) * of.batch + row),
        };
        hn.row_mut(row).copy_from_slice(last);
    }
}

fn run(call: &mut Call<'_>) -> Result<(), KernelError> {
    let of = Problem::of(call.case);
    let Given { x, h0, weights, biases } = Given::of(call.inputs, of)?;
    let (mut y, mut hn, mut c) = taken(call.inputs, call.outputs, of)?;
    let (simd, gates) = (OneLane::new(), of.gates());
    for row in 0..of.steps * of.batch {
        let sequence = row % of.batch;
        for unit in 0..of.units {
            let before = match row.checked_sub(of.batch) {
                Some(before) => y.row(before),
                None => h0.row(sequence),
            };
            let sum = |side: usize, gate: usize, of_row: &[f32]| {
                let place = gate * of.units + unit;
                let terms = weights[side].row(place).iter().zip(of_row);
                terms.fold(0.0, |sum, (w, x)| sum + w * x) + biases[side][place]
            };
            let sums = |side: usize, of_row: &[f32]| {
                let of_gate = |gate| if gate < gates { sum(side, gate, of_row) } else { 0.0 };
                [0, 1, 2, 3].map(of_gate)
            };
            let (from_x, from_h) = (sums(0, x.row(row)), sums(1, before));
            let value = match &mut c {
                Some(c) => {
                    let c = &mut c.row_mut(sequence)[unit];
                    let (value, new) = lstm(simd, from_x, from_h, *c);
                    *c = new;
                    value
                }
                None => gru(simd, from_x, from_h, before[unit]),
            };
            y.row_mut(row)[unit] = value;
        }
    }
    finish(of, h0, &y, &mut hn);
    Ok(())
}
