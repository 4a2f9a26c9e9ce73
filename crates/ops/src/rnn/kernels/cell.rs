//! What a unit makes of its sums, on vectors.

use crate::blocks::math::{sigmoid, tanh};
use crate::rnn::definition::Cell;
use proofmark_simd::{Body, Simd};
use proofmark_tensor::{Rows, RowsMut};

/// Output and state of an LSTM's units from both sums of its gates i, f, g, o and its state.
#[inline(always)]
pub(super) fn lstm<S: Simd>(simd: S, x: [S::F; 4], h: [S::F; 4], c: S::F) -> (S::F, S::F) {
    let i = sigmoid(simd, simd.add(x[0], h[0]));
    let f = sigmoid(simd, simd.add(x[1], h[1]));
    let g = tanh(simd, simd.add(x[2], h[2]));
    let o = sigmoid(simd, simd.add(x[3], h[3]));
    let c = simd.fma(f, c, simd.mul(i, g));
    (simd.mul(o, tanh(simd, c)), c)
}

/// Output of a GRU's units from both sums of its gates r, z, n and its output before.
#[inline(always)]
pub(super) fn gru<S: Simd>(simd: S, x: [S::F; 4], h: [S::F; 4], before: S::F) -> S::F {
    let r = sigmoid(simd, simd.add(x[0], h[0]));
    let z = sigmoid(simd, simd.add(x[1], h[1]));
    let n = tanh(simd, simd.fma(r, h[2], x[2]));
    simd.fma(z, before, simd.mul(simd.sub(simd.splat(1.0), z), n))
}

/// One step of some units of all sequences.
pub(super) struct Step<'a> {
    pub(super) cell: Cell,
    /// Sums over the inputs: a row for each sequence, in it the units of each gate.
    pub(super) x: &'a [f32],
    /// The same over the outputs before.
    pub(super) h: &'a [f32],
    /// Floats of the units of a gate in both.
    pub(super) span: usize,
    /// All outputs before.
    pub(super) before: Rows<'a, f32>,
    /// The first of the units.
    pub(super) first: usize,
    /// The units' outputs.
    pub(super) y: RowsMut<'a, f32>,
    /// Their states, which an LSTM has.
    pub(super) c: Option<RowsMut<'a, f32>>,
}

impl Body for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let (units, span) = (self.y.cols(), self.span);
        let gates = if self.cell == Cell::Lstm { 4 } else { 3 };
        let mut row = 0;
        while row < self.y.rows() {
            let mut at = 0;
            while at < units {
                let count = S::LANES.min(units - at);
                let (mut x, mut h) = ([simd.zero(); 4], [simd.zero(); 4]);
                for gate in 0..4 {
                    if gate < gates {
                        let place = (row * gates + gate) * span + at;
                        x[gate] = simd.load_partial(&self.x[place..place + count], 0.0);
                        h[gate] = simd.load_partial(&self.h[place..place + count], 0.0);
                    }
                }
                let y = match &mut self.c {
                    Some(c) => {
                        let c = &mut c.row_mut(row)[at..at + count];
                        let (y, new) = lstm(simd, x, h, simd.load_partial(c, 0.0));
                        simd.store_partial(new, c);
                        y
                    }
                    None => {
                        let before = &self.before.row(row)[self.first + at..][..count];
                        gru(simd, x, h, simd.load_partial(before, 0.0))
                    }
                };
                simd.store_partial(y, &mut self.y.row_mut(row)[at..at + count]);
                at += count;
            }
            row += 1;
        }
    }
}
