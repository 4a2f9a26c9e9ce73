//! The mean squared error: how far x is from its target, as one number.
//!
//! ```text
//! loss = Σ (x − target)² / n        reduction=sum: not divided
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `d` | elements of a row |
//!
//! Variants: `reduction` = `mean` (default) or `sum`. x and target are f32, bf16 or f16;
//! differences, squares and sums are f32, and so is the loss.
//!
//! Edges: NaN, or infinities of one sign at one place, make NaN; any other infinity makes the loss
//! infinite. Squares are f32: from |x − target| > √(f32::MAX / n) on the loss is infinite. Of no
//! elements the sum is 0 and the mean NaN.

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

use crate::blocks::stored::Stored;
use crate::library::{Context, Error, Given, Request};
use proofmark_contract::Entry;

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::Mse,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// The mean of the squared differences.
///
/// ```
/// use proofmark_ops::{Context, mse::mse};
///
/// assert_eq!(mse(&Context::serial(), &[1.0f32, 2.0], &[4.0, 1.0])?, 5.0);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the lengths differ.
pub fn mse<T: Stored>(context: &Context, x: &[T], target: &[T]) -> Result<f32, Error> {
    reduced(context, x, target, "mean")
}

/// The sum of the squared differences.
///
/// # Errors
/// If the lengths differ.
pub fn squared_error<T: Stored>(context: &Context, x: &[T], target: &[T]) -> Result<f32, Error> {
    reduced(context, x, target, "sum")
}

fn reduced<T: Stored>(
    context: &Context,
    x: &[T],
    target: &[T],
    reduction: &'static str,
) -> Result<f32, Error> {
    let mut loss = [0.0f32];
    let request = Request::rows(&ENTRY, T::DTYPE, (1, x.len()));
    let request = request.attr("reduction", Given::Word(reduction));
    request.run(context, &[x.into(), target.into()], &mut [loss[..].as_mut().into()])?;
    Ok(loss[0])
}
