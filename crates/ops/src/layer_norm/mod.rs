//! Layer normalisation: every row is centred, divided by its standard deviation and weighted.
//!
//! ```text
//! y[b,s,i] = (x[b,s,i] − μ[b,s]) · r[b,s] · gamma[i] + beta[i]
//! μ[b,s] = mean_i x[b,s,i]        r[b,s] = 1 / √(mean_i (x[b,s,i] − μ[b,s])² + eps)
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `d` | elements of a row, over which the means are taken |
//!
//! Everything is computed in f32 and rounded to the element type once. Rows far from zero are
//! right: the variance is that of differences from the mean, never of squares.
//!
//! Edges, as IEEE arithmetic gives them:
//! - NaN or an infinity anywhere in a row makes that row NaN; NaN in `gamma` or `beta` makes that
//!   column NaN.
//! - An infinite `gamma` where x − μ is 0 gives NaN or, where rounding leaves something of it, an
//!   infinity; which is not promised.
//! - A row of equal elements is `beta` for `eps > 0`, as near as its mean is, and NaN for
//!   `eps = 0`.
//! - The sign of a zero result is not specified. Subnormal elements count and subnormal results
//!   are kept.
//! - Squares are f32: from |x| > √(f32::MAX / 4d) on the variance overflows, and with `eps = 0` a
//!   row whose squares all underflow becomes infinite. Neither is promised.
//! - `d = 0` and empty batches write nothing.

pub(crate) mod definition;
mod kernels;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::row::RowKernel;
use crate::blocks::stored::Stored;
use crate::library::{self, LibraryError};
use definition::LayerNorm;
use proofmark_contract::Entry;
use proofmark_schema::{AttrValue, Case};
use proofmark_tensor::Pool;

/// Layer normalisation with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &LayerNorm,
    kernels: RowKernel::<LayerNorm>::ALL,
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// Normalises the rows of `x` into `y`, weighted by `gamma` and moved by `beta`; a row is as long
/// as these. Uses up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::layer_norm::layer_norm;
/// use proofmark_tensor::Pool;
///
/// let x = [1001.0f32, 1003.0, 7.0, -7.0];
/// let mut y = [0.0f32; 4];
/// layer_norm(&x, [&[1.0, 10.0], &[0.0, 0.5]], &mut y, 0.0, &Pool::serial(), 1)?;
/// // Both rows are one standard deviation on either side of their mean.
/// assert_eq!(y, [-1.0, 10.5, 1.0, -9.5]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If `y` is not as long as `x`, `x` is not a whole number of rows, `beta` is not as long as
/// `gamma`, or `eps` is not from 0 to 1.
pub fn layer_norm<T: Stored>(
    x: &[T],
    [gamma, beta]: [&[T]; 2],
    y: &mut [T],
    eps: f64,
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let rows = x.len().checked_div(gamma.len()).unwrap_or(0);
    let case = Case::new("layer_norm", T::DTYPE)
        .axis("b", 1)
        .axis("s", rows as u64)
        .axis("d", gamma.len() as u64)
        .attr("eps", AttrValue::Real(eps));
    let inputs = [x.into(), gamma.into(), beta.into()];
    library::run(&ENTRY, &case, &inputs, &mut [y.into()], pool, threads)
}
