//! Cross entropy: how unlikely the logits of each row make its target.
//!
//! ```text
//! loss[i] = (1 − ε)·(L[i] − x[i, target[i]]) + ε·(L[i] − mean_j x[i,j])
//! L[i] = ln Σ_j exp x[i,j]
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `n` | rows: predictions |
//! | `v` | logits of a row: the vocabulary |
//!
//! Variants: `reduction` = `mean` (default: one loss, the mean of the rows that count) or `none`
//! (one for each row). `smoothing` is ε. Rows whose target is `ignore` do not count; with `none`
//! their loss is 0. Logits are f32, bf16 or f16, targets i32; everything is computed in f32, and
//! the loss is f32.
//!
//! Edges, as IEEE arithmetic gives them:
//! - NaN or +infinity in a row that counts makes its loss NaN, so does a row of nothing but
//!   -infinity.
//! - -infinity at the target makes the loss infinite; with ε > 0, anywhere in the row.
//! - Finite logits of any size are right: exponentials are of differences from the largest.
//! - Where no row counts the mean is NaN (0 / 0).
//! - A target that is neither below `v` nor `ignore` is refused.
//! - `n = 0` with `none` writes nothing; rows without logits have no target and are refused.

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
    op: &definition::CrossEntropy,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// The mean loss of rows of logits, one row for each target; targets of -100 do not count. Uses up
/// to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::cross_entropy::cross_entropy;
/// use proofmark_tensor::Pool;
///
/// // Two equal logits are one bit of doubt; the second row does not count.
/// let loss = cross_entropy(&[7.0f32, 7.0, 1.0, 2.0], &[1, -100], &Pool::serial(), 1)?;
/// assert!((loss - 2f32.ln()).abs() < 1e-6);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If `logits` are not a whole number of rows, or a target is not below their length.
pub fn cross_entropy<T: Stored>(
    logits: &[T],
    targets: &[i32],
    pool: &Pool,
    threads: usize,
) -> Result<f32, LibraryError> {
    let length = logits.len().checked_div(targets.len()).unwrap_or(0);
    let case = Case::new("cross_entropy", T::DTYPE)
        .axis("n", targets.len() as u64)
        .axis("v", length as u64);
    let (mut loss, inputs) = ([0.0f32], [logits.into(), targets.into()]);
    library::run(&ENTRY, &case, &inputs, &mut [(&mut loss[..]).into()], pool, threads)?;
    Ok(loss[0])
}
