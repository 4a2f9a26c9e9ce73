//! RMS normalisation: every row is divided by its root mean square and weighted.
//!
//! ```text
//! y[b,s,i] = x[b,s,i] · r[b,s] · w[i]        r[b,s] = 1 / √(mean_i x[b,s,i]² + eps)
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `d` | elements of a row, over which the mean is taken |
//!
//! Variants: `llama` weights by `w`, `gemma` by `1 + w` (the word `variant`). Where frameworks
//! differ in what they round when, this op has one definition: everything in f32, and one
//! rounding to the element type at the end.
//!
//! Edges, as IEEE arithmetic gives them:
//! - NaN anywhere in a row makes that row NaN; NaN in `w` makes that column NaN.
//! - An infinity in a row is NaN there and makes the rest of the row 0, for `r` is 0.
//! - A row of zeros is 0 for `eps > 0` and NaN for `eps = 0`.
//! - The sign of a zero result is not specified. Subnormal elements count and subnormal results
//!   are kept.
//! - Squares are f32: from |x| > √(f32::MAX / d) on the mean overflows and the row becomes 0, and
//!   with `eps = 0` a row whose squares all underflow becomes infinite. Neither is promised.
//! - `d = 0` and empty batches write nothing.

pub(crate) mod definition;
mod kernels;
mod mutants;
pub(crate) mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::row::RowKernel;
use crate::blocks::stored::Stored;
use crate::library::{self, LibraryError};
use definition::RmsNorm;
use proofmark_contract::Entry;
use proofmark_schema::{AttrValue, Case};
use proofmark_tensor::Pool;

/// RMS normalisation with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &RmsNorm,
    kernels: RowKernel::<RmsNorm>::ALL,
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// Normalises the rows of `x` into `y`, weighted by `w` (the variant `llama`); a row is as long
/// as `w`. Uses up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::rms_norm::rms_norm;
/// use proofmark_tensor::Pool;
///
/// let x = [3.0f32, 4.0, -1.0, 1.0];
/// let mut y = [0.0f32; 4];
/// rms_norm(&x, &[1.0, 10.0], &mut y, 0.0, &Pool::serial(), 1)?;
/// // The first row's mean square is 12.5, the second's is 1.
/// assert!((y[0] - 3.0 / 12.5f32.sqrt()).abs() < 1e-6);
/// assert_eq!(y[2..], [-1.0, 10.0]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If `y` is not as long as `x`, `x` is not a whole number of rows, or `eps` is not from 0 to 1.
pub fn rms_norm<T: Stored>(
    x: &[T],
    w: &[T],
    y: &mut [T],
    eps: f64,
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let rows = x.len().checked_div(w.len()).unwrap_or(0);
    let case = Case::new("rms_norm", T::DTYPE)
        .axis("b", 1)
        .axis("s", rows as u64)
        .axis("d", w.len() as u64)
        .attr("eps", AttrValue::Real(eps));
    library::run(&ENTRY, &case, &[x.into(), w.into()], &mut [y.into()], pool, threads)
}
