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

mod definition;
mod kernels;
mod laws;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::library::{self, LibraryError};
use definition::{Cell, Recurrent};
use proofmark_contract::{Entry, Kernel};
use proofmark_schema::{Case, DType};
use proofmark_tensor::Pool;

const KERNELS: &[&dyn Kernel] =
    &[&kernels::PREPACKED, &kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR];

/// `gru` with everything that belongs to it.
pub static GRU: Entry = Entry {
    op: &Recurrent(Cell::Gru),
    kernels: KERNELS,
    mutants: mutants::GRU,
    suite: include_str!("suite.toml"),
};

/// `lstm` with everything that belongs to it.
pub static LSTM: Entry = Entry {
    op: &Recurrent(Cell::Lstm),
    kernels: KERNELS,
    mutants: mutants::LSTM,
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

/// An LSTM over `[t, b, i]` inputs: `y` takes each output, `h` and `c` hold the first state and
/// then the last. Uses up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::rnn::{Weights, lstm};
/// use proofmark_tensor::Pool;
///
/// let weights = Weights { w_ih: &[0.0; 4], w_hh: &[0.0; 4], b_ih: &[0.0; 4], b_hh: &[0.0; 4] };
/// let (mut y, mut h, mut c) = ([0.0; 2], [1.0], [4.0]);
/// // Every gate is a half.
/// lstm(&[5.0, 6.0], [2, 1, 1], weights, &mut y, (&mut h, &mut c), &Pool::serial(), 1)?;
/// assert!((c[0] - 1.0).abs() < 1e-6 && (h[0] - 0.5 * 1f32.tanh()).abs() < 1e-6);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If lengths do not fit each other.
pub fn lstm(
    x: &[f32],
    shape: [usize; 3],
    weights: Weights<'_>,
    y: &mut [f32],
    (h, c): (&mut [f32], &mut [f32]),
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let (h0, c0) = (h.to_vec(), c.to_vec());
    let Weights { w_ih, w_hh, b_ih, b_hh } = weights;
    let inputs = [x, &h0, &c0, w_ih, w_hh, b_ih, b_hh].map(Into::into);
    let case = case("lstm", shape, h.len());
    library::run(&LSTM, &case, &inputs, &mut [y.into(), h.into(), c.into()], pool, threads)
}

/// A GRU over `[t, b, i]` inputs: `h` holds the first output and then the last; see [`lstm`].
///
/// # Errors
/// If lengths do not fit each other.
pub fn gru(
    x: &[f32],
    shape: [usize; 3],
    weights: Weights<'_>,
    y: &mut [f32],
    h: &mut [f32],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let h0 = h.to_vec();
    let Weights { w_ih, w_hh, b_ih, b_hh } = weights;
    let inputs = [x, &h0, w_ih, w_hh, b_ih, b_hh].map(Into::into);
    let case = case("gru", shape, h.len());
    library::run(&GRU, &case, &inputs, &mut [y.into(), h.into()], pool, threads)
}

fn case(op: &str, [t, b, i]: [usize; 3], state: usize) -> Case {
    let units = state.checked_div(b).unwrap_or(0);
    let case = Case::new(op, DType::F32).axis("t", t as u64).axis("b", b as u64);
    case.axis("i", i as u64).axis("h", units as u64)
}
