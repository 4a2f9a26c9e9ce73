//! RMS normalisation of a sum: what a transformer does between two of its blocks.
//!
//! ```text
//! sum[b,s,i] = x[b,s,i] + residual[b,s,i], rounded to the element type
//! y[b,s,i]   = sum[b,s,i] · r[b,s] · w[i]        r[b,s] = 1 / √(mean_i sum[b,s,i]² + eps)
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `d` | elements of a row, over which the mean is taken |
//!
//! Both results are written. The second is made of the first as it was rounded, so that it is the
//! same as a sum followed by [`crate::rms_norm`], whose variants and edges it has. Everything
//! else is computed in f32 and rounded once.

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
use crate::library::{Context, Error, Given, Mat, MatMut, Request};
pub use crate::rms_norm::Options;
use definition::AddRmsNorm;
use proofmark_contract::Entry;

/// The normalised sum with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &AddRmsNorm,
    kernels: RowKernel::<AddRmsNorm>::ALL,
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// Writes `x + residual` to `sum`, and its rows, each divided by its root mean square and times
/// `w`, to `y`.
///
/// ```
/// use proofmark_ops::{Context, add_rms_norm::add_rms_norm};
///
/// let (mut sum, mut y) = ([0.0f32; 2], [0.0f32; 2]);
/// let (x, residual, weight) = ([1.0, 2.0], [2.0, -5.0], [1.0, 10.0]);
/// add_rms_norm(&Context::serial(), &x, &residual, &weight, &mut sum, &mut y)?;
/// assert_eq!(sum, [3.0, -3.0]);
/// assert!((y[1] + 10.0).abs() < 1e-5);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ.
pub fn add_rms_norm<'a, T: Stored>(
    context: &Context,
    x: impl Into<Mat<'a, T>>,
    residual: impl Into<Mat<'a, T>>,
    w: &[T],
    sum: impl Into<MatMut<'a, T>>,
    y: impl Into<MatMut<'a, T>>,
) -> Result<(), Error> {
    with(context, &Options::default(), [x.into(), residual.into()], w, [sum.into(), y.into()])
}

/// As [`add_rms_norm`], with options: `x` and `residual`, the weight, `sum` and `y`.
///
/// # Errors
/// As for [`add_rms_norm`], and if `eps` is not from 0 to 1.
pub fn with<T: Stored>(
    context: &Context,
    options: &Options,
    [x, residual]: [Mat<'_, T>; 2],
    w: &[T],
    [sum, y]: [MatMut<'_, T>; 2],
) -> Result<(), Error> {
    let request = Request::rows(&ENTRY, T::DTYPE, (x.rows, x.cols));
    let request = request.attr("eps", Given::Real(options.eps));
    let request = request.attr("variant", options.variant.given());
    let inputs = [x.into(), residual.into(), w.into()];
    request.run(context, &inputs, &mut [sum.into(), y.into()])
}
