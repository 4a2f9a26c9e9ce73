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
#[cfg(feature = "judge")]
pub(crate) mod judge;
mod kernels;
#[cfg(feature = "judge")]
mod mutants;
#[cfg(feature = "judge")]
pub(crate) mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::row::{Rms, RowKernel};
use crate::blocks::stored::Stored;
use crate::library::{Context, Error, Given, Mat, MatMut, Request, short_path};
use definition::RmsNorm;
use proofmark_contract::Entry;

/// RMS normalisation with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &RmsNorm,
    kernels: RowKernel::<RmsNorm>::ALL,
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// How the weight is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// Times the weight.
    #[default]
    Llama,
    /// Times one plus the weight.
    Gemma,
}

impl Variant {
    pub(crate) fn given(self) -> Given {
        Given::Word(match self {
            Variant::Llama => "llama",
            Variant::Gemma => "gemma",
        })
    }
}

/// What else the normalisation can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Added to the mean square, from 0 to 1.
    pub eps: f64,
    /// How the weight is applied.
    pub variant: Variant,
}

impl Default for Options {
    /// `eps` of 1e-6 and the weight as it is.
    fn default() -> Options {
        Options { eps: 1e-6, variant: Variant::Llama }
    }
}

/// Writes the rows of `x`, each divided by its root mean square and times `w`, to `y`.
///
/// ```
/// use proofmark_ops::{Context, Mat, MatMut, rms_norm::rms_norm};
///
/// let x = [3.0f32, 4.0, -1.0, 1.0];
/// let mut y = [0.0f32; 4];
/// let weight = [1.0, 10.0];
/// rms_norm(&Context::serial(), Mat::new(&x, 2, 2), &weight, MatMut::new(&mut y, 2, 2))?;
/// // The first row's mean square is 12.5, the second's is 1.
/// assert!((y[0] - 3.0 / 12.5f32.sqrt()).abs() < 1e-6);
/// assert!((y[3] - 10.0).abs() < 1e-4);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ.
pub fn rms_norm<'a, T: Stored>(
    context: &Context,
    x: impl Into<Mat<'a, T>>,
    w: &[T],
    y: impl Into<MatMut<'a, T>>,
) -> Result<(), Error> {
    Options::default().run(context, x, w, y)
}

impl Options {
    /// As [`rms_norm`], with these options.
    ///
    /// # Errors
    /// As for [`rms_norm`], and if `eps` is not from 0 to 1.
    pub fn run<'a, T: Stored>(
        &self,
        context: &Context,
        x: impl Into<Mat<'a, T>>,
        w: &[T],
        y: impl Into<MatMut<'a, T>>,
    ) -> Result<(), Error> {
        let (x, y) = (x.into(), y.into());
        let is_row = x.rows == 1 && y.rows == 1 && (x.cols, x.cols) == (w.len(), y.cols);
        let is_plain = is_row && (x.data.len(), y.data.len()) == (x.cols, x.cols);
        let is_valid = is_plain && !x.is_transposed && (0.0..=1.0).contains(&self.eps);
        if let Some(isa) = short_path(x.cols).filter(|_| is_valid) {
            let one = if self.variant == Variant::Gemma { 1.0 } else { 0.0 };
            kernels::one_row(isa, Rms { eps: self.eps as f32, one }, x.data, w, y.data);
            return Ok(());
        }
        let request = Request::rows(&ENTRY, T::DTYPE, (x.rows, x.cols));
        let request = request.attr("eps", Given::Real(self.eps));
        let request = request.attr("variant", self.variant.given());
        request.run(context, &[x.into(), w.into()], &mut [y.into()])
    }
}
