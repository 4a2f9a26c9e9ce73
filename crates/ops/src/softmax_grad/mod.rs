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
use definition::SoftmaxGrad;
use proofmark_contract::Entry;

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &SoftmaxGrad,
    kernels: RowKernel::<SoftmaxGrad>::ALL,
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// Writes the gradient with respect to the input of softmax to `dx`, from the output `y` of softmax
/// and the gradient `dy` with respect to that.
///
/// ```
/// use proofmark_ops::{Context, softmax_grad::softmax_grad};
///
/// let mut dx = [0.0f32; 2];
/// softmax_grad(&Context::serial(), &[0.25f32, 0.75], &[4.0, 0.0], &mut dx)?;
/// assert_eq!(dx, [0.75, -0.75]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ.
pub fn softmax_grad<'a, T: Stored>(
    context: &Context,
    y: impl Into<Mat<'a, T>>,
    dy: impl Into<Mat<'a, T>>,
    dx: impl Into<MatMut<'a, T>>,
) -> Result<(), Error> {
    let (y, dy, dx) = (y.into(), dy.into(), dx.into());
    let request = Request::rows(&ENTRY, T::DTYPE, (y.rows, y.cols));
    request.run(context, &[y.into(), dy.into()], &mut [dx.into()])
}
