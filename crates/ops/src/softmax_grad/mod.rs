//! The gradient of softmax: what a change of the loss by y means for x.
//!
//! ```text
//! dx[b,s,i] = y[b,s,i] · (dy[b,s,i] − Σ_j y[b,s,j]·dy[b,s,j])
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `d` | elements of a row, over which the sum is taken |
//!
//! No variants. y is what the softmax gave, dy the gradient of the loss by it; y may be any
//! numbers. Everything is computed in f32 and rounded to the element type once.
//!
//! Edges, as IEEE arithmetic gives them: NaN makes its row NaN; an infinity makes the sum of its
//! row infinite or NaN. The sign of a zero result is free. `d = 0` and empty batches write nothing.

mod definition;
mod kernels;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::row::RowKernel;
use crate::blocks::stored::Stored;
use crate::library::{self, LibraryError};
use definition::SoftmaxGrad;
use proofmark_contract::Entry;
use proofmark_schema::Case;
use proofmark_tensor::Pool;

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &SoftmaxGrad,
    kernels: RowKernel::<SoftmaxGrad>::ALL,
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// Writes the gradient by what softmax was given to `dx`, from its result `y` and the gradient `dy`
/// by that, in rows of `length` elements. Uses up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::softmax_grad::softmax_grad;
/// use proofmark_tensor::Pool;
///
/// let mut dx = [0.0f32; 2];
/// softmax_grad(&[0.25, 0.75], &[4.0, 0.0], 2, &mut dx, &Pool::serial(), 1)?;
/// assert_eq!(dx, [0.75, -0.75]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If lengths differ, or are not a whole number of rows.
pub fn softmax_grad<T: Stored>(
    y: &[T],
    dy: &[T],
    length: usize,
    dx: &mut [T],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let rows = y.len().checked_div(length).unwrap_or(0);
    let case = Case::new("softmax_grad", T::DTYPE)
        .axis("b", 1)
        .axis("s", rows as u64)
        .axis("d", length as u64);
    library::run(&ENTRY, &case, &[y.into(), dy.into()], &mut [dx.into()], pool, threads)
}
