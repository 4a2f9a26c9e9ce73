//! Recurrent layers over whole sequences: LSTM and GRU. One step is `t = 1`.
//!
//! ```text
//! lstm  i,f,g,o = W xₜ + b + U h + d        c ← σ(f)·c + σ(i)·tanh(g)     h ← σ(o)·tanh(c)
//! gru   r,z = σ(W xₜ + b + U h + d)         n = tanh(W xₜ + b + r·(U h + d))   h ← (1 − z)·n + z·h
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `t` | steps of a sequence |
//! | `b` | sequences in the batch |
//! | `i` | elements of an input |
//! | `h` | units |
//!
//! No variants. x is `[t,b,i]`, h0 (and c0 of lstm) `[b,h]`; w_ih (W) `[gates·h,i]`, w_hh (U)
//! `[gates·h,h]`, b_ih (b) and b_hh (d) `[gates·h]`, gates in the order written above.
//! y is `[t,b,h]`, hn (and cn) the last `[b,h]`. All f32; rows may have gaps.
//!
//! Edges: a NaN stays in its sequence, reaches its own units at its step and all units at the next;
//! infinite sums saturate; without steps the last state is the first; without inputs the biases
//! count; the sign of a zero is free. Errors of a step are handed on to the next, and judged so.
//! A contender whose sigmoid is `1/2` plus a small number may say so in its contract; it is then
//! held to the error that this formula has.

mod definition;
#[cfg(feature = "judge")]
mod judge;
mod kernels;
#[cfg(feature = "judge")]
mod laws;
#[cfg(feature = "judge")]
mod mutants;
#[cfg(feature = "judge")]
mod oracle;
#[cfg(test)]
mod tests;

use crate::library::{Context, Error, Request};
use definition::{Cell, Recurrent};
use proofmark_contract::{Entry, Kernel};
use proofmark_terms::DType;

const KERNELS: &[&dyn Kernel] =
    &[&kernels::PREPACKED, &kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR];

/// `gru` with everything that belongs to it.
pub static GRU: Entry = Entry {
    op: &Recurrent(Cell::Gru),
    kernels: KERNELS,
    #[cfg(feature = "judge")]
    mutants: mutants::GRU,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// `lstm` with everything that belongs to it.
pub static LSTM: Entry = Entry {
    op: &Recurrent(Cell::Lstm),
    kernels: KERNELS,
    #[cfg(feature = "judge")]
    mutants: mutants::LSTM,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// The weights of a layer, gates below each other.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    /// Over inputs, `[gates·h, i]`.
    pub w_ih: &'a [f32],
    /// Over outputs, `[gates·h, h]`.
    pub w_hh: &'a [f32],
    /// Added to the sums over inputs.
    pub b_ih: &'a [f32],
    /// Added to the sums over outputs.
    pub b_hh: &'a [f32],
}

/// The state of an LSTM before the first step, `[b, h]` each.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    /// The output.
    pub h: &'a [f32],
    /// The cell.
    pub c: &'a [f32],
}

/// The state of an LSTM after the last step, `[b, h]` each.
#[derive(Debug)]
pub struct StateMut<'a> {
    /// The output.
    pub h: &'a mut [f32],
    /// The cell.
    pub c: &'a mut [f32],
}

/// An LSTM over inputs `x` of `[t, b, i]` elements: writes each output to `y`, and the last state.
///
/// ```
/// use proofmark_ops::rnn::{State, StateMut, Weights, lstm};
/// use proofmark_ops::Context;
///
/// let weights = Weights { w_ih: &[0.0; 4], w_hh: &[0.0; 4], b_ih: &[0.0; 4], b_hh: &[0.0; 4] };
/// let first = State { h: &[1.0], c: &[4.0] };
/// let (mut y, mut h, mut c) = ([0.0; 2], [0.0], [0.0]);
/// let last = StateMut { h: &mut h, c: &mut c };
/// // Every gate is a half.
/// lstm(&Context::serial(), &[5.0, 6.0], [2, 1, 1], weights, first, &mut y, last)?;
/// assert!((c[0] - 1.0).abs() < 1e-6 && (h[0] - 0.5 * 1f32.tanh()).abs() < 1e-6);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the lengths do not fit the sizes.
pub fn lstm(
    context: &Context,
    x: &[f32],
    sizes: [usize; 3],
    weights: Weights<'_>,
    first: State<'_>,
    y: &mut [f32],
    last: StateMut<'_>,
) -> Result<(), Error> {
    let Weights { w_ih, w_hh, b_ih, b_hh } = weights;
    let inputs = [x, first.h, first.c, w_ih, w_hh, b_ih, b_hh].map(Into::into);
    let StateMut { h, c } = last;
    let outputs = &mut [y.into(), h.into(), c.into()];
    request(&LSTM, sizes, first.h.len()).run(context, &inputs, outputs)
}

/// A GRU over inputs `x` of `[t, b, i]` elements: writes each output to `y`, and the last to `h`.
/// The output before the first step is `h0`.
///
/// # Errors
/// If the lengths do not fit the sizes.
pub fn gru(
    context: &Context,
    x: &[f32],
    sizes: [usize; 3],
    weights: Weights<'_>,
    h0: &[f32],
    y: &mut [f32],
    h: &mut [f32],
) -> Result<(), Error> {
    let Weights { w_ih, w_hh, b_ih, b_hh } = weights;
    let inputs = [x, h0, w_ih, w_hh, b_ih, b_hh].map(Into::into);
    request(&GRU, sizes, h0.len()).run(context, &inputs, &mut [y.into(), h.into()])
}

fn request(entry: &'static Entry, [t, b, i]: [usize; 3], state: usize) -> Request {
    let units = state.checked_div(b).unwrap_or(0);
    let request = Request::new(entry, DType::F32).axis("t", t).axis("b", b);
    request.axis("i", i).axis("h", units)
}
