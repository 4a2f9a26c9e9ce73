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
mod kernels;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::row::RowKernel;
use crate::blocks::stored::Stored;
use crate::library::{self, LibraryError};
use definition::LogSoftmax;
use proofmark_contract::Entry;
use proofmark_schema::Case;
use proofmark_tensor::Pool;

/// The logarithm of softmax with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &LogSoftmax,
    kernels: RowKernel::<LogSoftmax>::ALL,
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// Writes the logarithm of the softmax of each row of `length` elements of `x` to `y`, with up to
/// `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::log_softmax::log_softmax;
/// use proofmark_tensor::Pool;
///
/// let mut y = [0.0f32; 4];
/// log_softmax(&[1000.0f32, 1000.0, 0.0, -500.0], &mut y, 2, &Pool::serial(), 1)?;
/// assert_eq!(y, [-2f32.ln(), -2f32.ln(), 0.0, -500.0]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If `y` is not as long as `x` or `x` is not a whole number of rows.
pub fn log_softmax<T: Stored>(
    x: &[T],
    y: &mut [T],
    length: usize,
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let rows = x.len().checked_div(length).unwrap_or(0) as u64;
    let case = Case::new("log_softmax", T::DTYPE).axis("b", 1).axis("s", rows);
    let case = case.axis("d", length as u64);
    library::run(&ENTRY, &case, &[x.into()], &mut [y.into()], pool, threads)
}
