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
use crate::library::{Context, Error, Given, Mat, MatMut, Request};
use definition::LayerNorm;
use proofmark_contract::Entry;

/// Layer normalisation with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &LayerNorm,
    kernels: RowKernel::<LayerNorm>::ALL,
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// What else it can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Added to the variance, from 0 to 1.
    pub eps: f64,
}

impl Default for Options {
    /// `eps` of 1e-5.
    fn default() -> Options {
        Options { eps: 1e-5 }
    }
}

/// Writes the rows of `x` with mean 0 and variance 1, times `gamma` plus `beta`, to `y`.
///
/// ```
/// use proofmark_ops::{Context, Mat, MatMut, layer_norm::Options};
///
/// let x = [1001.0f32, 1003.0, 7.0, -7.0];
/// let mut y = [0.0f32; 4];
/// let (x, out) = (Mat::new(&x, 2, 2), MatMut::new(&mut y, 2, 2));
/// Options { eps: 0.0 }.run(&Context::serial(), x, &[1.0, 10.0], &[0.0, 0.5], out)?;
/// // Both rows are one standard deviation on either side of their mean.
/// assert_eq!(y, [-1.0, 10.5, 1.0, -9.5]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ.
pub fn layer_norm<'a, T: Stored>(
    context: &Context,
    x: impl Into<Mat<'a, T>>,
    gamma: &[T],
    beta: &[T],
    y: impl Into<MatMut<'a, T>>,
) -> Result<(), Error> {
    Options::default().run(context, x, gamma, beta, y)
}

impl Options {
    /// As [`layer_norm`], with these options.
    ///
    /// # Errors
    /// As for [`layer_norm`], and if `eps` is not from 0 to 1.
    pub fn run<'a, T: Stored>(
        &self,
        context: &Context,
        x: impl Into<Mat<'a, T>>,
        gamma: &[T],
        beta: &[T],
        y: impl Into<MatMut<'a, T>>,
    ) -> Result<(), Error> {
        let (x, y) = (x.into(), y.into());
        let request = Request::rows(&ENTRY, T::DTYPE, (x.rows, x.cols));
        let request = request.attr("eps", Given::Real(self.eps));
        request.run(context, &[x.into(), gamma.into(), beta.into()], &mut [y.into()])
    }
}
