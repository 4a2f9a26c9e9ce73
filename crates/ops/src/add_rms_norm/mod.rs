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
mod kernels;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::row::RowKernel;
use crate::blocks::stored::Stored;
use crate::library::{self, LibraryError};
use definition::AddRmsNorm;
use proofmark_contract::Entry;
use proofmark_schema::{AttrValue, Case};
use proofmark_tensor::Pool;

/// The normalised sum with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &AddRmsNorm,
    kernels: RowKernel::<AddRmsNorm>::ALL,
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// Writes `x + residual` to `sum` and its rows, normalised and weighted by `w` (the variant
/// `llama`), to `y`; a row is as long as `w`. Uses up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::add_rms_norm::add_rms_norm;
/// use proofmark_tensor::Pool;
///
/// let (mut sum, mut y) = ([0.0f32; 2], [0.0f32; 2]);
/// let outputs = [&mut sum[..], &mut y[..]];
/// add_rms_norm([&[1.0, 2.0], &[2.0, -5.0]], &[1.0, 10.0], outputs, 0.0, &Pool::serial(), 1)?;
/// assert_eq!((sum, y), ([3.0, -3.0], [1.0, -10.0]));
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If lengths differ, `x` is not a whole number of rows, or `eps` is not from 0 to 1.
pub fn add_rms_norm<T: Stored>(
    [x, residual]: [&[T]; 2],
    w: &[T],
    [sum, y]: [&mut [T]; 2],
    eps: f64,
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let rows = x.len().checked_div(w.len()).unwrap_or(0);
    let case = Case::new("add_rms_norm", T::DTYPE)
        .axis("b", 1)
        .axis("s", rows as u64)
        .axis("d", w.len() as u64)
        .attr("eps", AttrValue::Real(eps));
    let inputs = [x.into(), residual.into(), w.into()];
    library::run(&ENTRY, &case, &inputs, &mut [sum.into(), y.into()], pool, threads)
}
