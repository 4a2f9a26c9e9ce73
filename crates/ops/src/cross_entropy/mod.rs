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
use crate::library::{Context, Error, Given, Mat, Request};
use proofmark_contract::Entry;

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::CrossEntropy,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// What else the loss can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The part of the target that is spread over all classes, from 0 to 1.
    pub smoothing: f64,
    /// Rows with this target do not count.
    pub ignore: i32,
}

impl Default for Options {
    /// No smoothing; targets of -100 do not count.
    fn default() -> Options {
        Options { smoothing: 0.0, ignore: -100 }
    }
}

/// The mean loss of rows of logits, one row for each target. Rows whose target is -100 do not
/// count.
///
/// ```
/// use proofmark_ops::{Context, Mat, cross_entropy::cross_entropy};
///
/// // Two equal logits are one bit of doubt; the second row does not count.
/// let logits = [7.0f32, 7.0, 1.0, 2.0];
/// let loss = cross_entropy(&Context::serial(), Mat::new(&logits, 2, 2), &[1, -100])?;
/// assert!((loss - 2f32.ln()).abs() < 1e-6);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If there is not one target for each row, or a target is no column.
pub fn cross_entropy<T: Stored>(
    context: &Context,
    logits: Mat<'_, T>,
    targets: &[i32],
) -> Result<f32, Error> {
    Options::default().mean(context, logits, targets)
}

impl Options {
    /// As [`cross_entropy`], with these options.
    ///
    /// # Errors
    /// As for [`cross_entropy`], and if `smoothing` is not from 0 to 1.
    pub fn mean<T: Stored>(
        &self,
        context: &Context,
        logits: Mat<'_, T>,
        targets: &[i32],
    ) -> Result<f32, Error> {
        let mut loss = [0.0f32];
        self.run(context, logits, targets, "mean", &mut loss)?;
        Ok(loss[0])
    }

    /// Writes the loss of each row to `losses`; 0 where it does not count.
    ///
    /// # Errors
    /// As for [`Options::mean`], and if there is not one loss for each row.
    pub fn each<T: Stored>(
        &self,
        context: &Context,
        logits: Mat<'_, T>,
        targets: &[i32],
        losses: &mut [f32],
    ) -> Result<(), Error> {
        self.run(context, logits, targets, "none", losses)
    }

    fn run<T: Stored>(
        &self,
        context: &Context,
        logits: Mat<'_, T>,
        targets: &[i32],
        reduction: &'static str,
        losses: &mut [f32],
    ) -> Result<(), Error> {
        let request = Request::new(&ENTRY, T::DTYPE);
        let request = request.axis("n", logits.rows).axis("v", logits.cols);
        let request = request
            .attr("reduction", Given::Word(reduction))
            .attr("smoothing", Given::Real(self.smoothing))
            .attr("ignore", Given::Int(i64::from(self.ignore)));
        request.run(context, &[logits.into(), targets.into()], &mut [losses.into()])
    }
}
