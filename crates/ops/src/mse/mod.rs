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
mod kernels;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::stored::Stored;
use crate::library::{self, LibraryError};
use proofmark_contract::Entry;
use proofmark_schema::Case;
use proofmark_tensor::Pool;

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::Mse,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// The mean of the squared differences, with up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::mse::mse;
/// use proofmark_tensor::Pool;
///
/// assert_eq!(mse(&[1.0f32, 2.0], &[4.0, 1.0], &Pool::serial(), 1)?, 5.0);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If the lengths differ.
pub fn mse<T: Stored>(
    x: &[T],
    target: &[T],
    pool: &Pool,
    threads: usize,
) -> Result<f32, LibraryError> {
    let case = Case::new("mse", T::DTYPE).axis("b", 1).axis("s", 1).axis("d", x.len() as u64);
    let (mut loss, inputs) = ([0.0f32], [x.into(), target.into()]);
    library::run(&ENTRY, &case, &inputs, &mut [(&mut loss[..]).into()], pool, threads)?;
    Ok(loss[0])
}
