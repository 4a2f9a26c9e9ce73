//! The logarithm of softmax: what losses and samplers read.
//!
//! ```text
//! y[b,s,i] = x[b,s,i] − m[b,s] − ln Σ_j exp(x[b,s,j] − m[b,s])        m[b,s] = max_j x[b,s,j]
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | problems in the batch |
//! | `s` | rows of a problem |
//! | `d` | elements of a row, over which the sum is taken |
//!
//! Everything is computed in f32 and rounded to the element type once. Unlikely elements keep
//! their digits: no logarithm of a vanishing probability is taken.
//!
//! Edges, as IEEE arithmetic gives them:
//! - NaN or +infinity anywhere in a row makes the whole row NaN.
//! - -infinity stays -infinity; a row of nothing else is NaN.
//! - Finite elements of any size are right; a result below the least number is -infinity.
//! - The sign of a zero result is not specified.
//! - `d = 0` and empty batches write nothing.

mod definition;
#[cfg(feature = "judge")]
mod judge;
mod kernels;
#[cfg(feature = "judge")]
mod mutants;
#[cfg(feature = "judge")]
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::row::RowKernel;
use crate::blocks::stored::Stored;
use crate::library::{Context, Error, Mat, MatMut, Request};
use definition::LogSoftmax;
use proofmark_contract::Entry;

/// The logarithm of softmax with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &LogSoftmax,
    kernels: RowKernel::<LogSoftmax>::ALL,
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// Writes the logarithm of the softmax of each row of `x` to `y`.
///
/// ```
/// use proofmark_ops::{Context, Mat, MatMut, log_softmax::log_softmax};
///
/// let x = [1000.0f32, 1000.0, 0.0, -500.0];
/// let mut y = [0.0f32; 4];
/// log_softmax(&Context::serial(), Mat::new(&x, 2, 2), MatMut::new(&mut y, 2, 2))?;
/// assert_eq!(y, [-2f32.ln(), -2f32.ln(), 0.0, -500.0]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ.
pub fn log_softmax<'a, T: Stored>(
    context: &Context,
    x: impl Into<Mat<'a, T>>,
    y: impl Into<MatMut<'a, T>>,
) -> Result<(), Error> {
    let (x, y) = (x.into(), y.into());
    let request = Request::rows(&ENTRY, T::DTYPE, (x.rows, x.cols));
    request.run(context, &[x.into()], &mut [y.into()])
}
