//! Dropout: elements are zeroed at random, and the others scaled so that the mean stays.
//!
//! ```text
//! y[e] = x[e] · 1/(1 − p) if r[e] ≥ ⌊p · 2^32⌋, else 0
//! r[e] = word e mod 4 of Philox4x32-10 with counter [e/4, e/4 >> 32, 0, 0] and key seed
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `d` | elements of a row |
//!
//! Variants: `p` is the part that is dropped, `seed` the key (lower word first). `e` is the
//! element's index, padding not counted, so that the mask depends on nothing but seed and shape.
//! The factor is `1/(1 − p)` in f64, rounded to f32; the product is f32 and rounded to the element
//! type once. Every result is defined to the bit.
//!
//! Edges: a dropped element is +0, whatever it was; a kept NaN, infinity or signed zero stays what
//! it is. `p = 0` keeps everything as it is, `p = 1` drops everything. Empty axes write nothing.

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
use crate::library::{Context, Error, Given, Mat, MatMut, Request};
use proofmark_contract::Entry;

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::Dropout,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// Sets each element of `x` to 0 with probability `p`, divides the others by `1 - p`, and writes
/// them to `y`. The seed alone decides which.
///
/// ```
/// use proofmark_ops::{Context, dropout::dropout};
///
/// let (x, mut y) = ([1.0f32; 8], [0.0f32; 8]);
/// dropout(&Context::serial(), &x, 0.5, 7, &mut y)?;
/// assert!(y.iter().all(|&y| y == 0.0 || y == 2.0));
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ, or `p` is not from 0 to 1.
pub fn dropout<'a, T: Stored>(
    context: &Context,
    x: impl Into<Mat<'a, T>>,
    p: f64,
    seed: i64,
    y: impl Into<MatMut<'a, T>>,
) -> Result<(), Error> {
    let (x, y) = (x.into(), y.into());
    let request = Request::rows(&ENTRY, T::DTYPE, (x.rows, x.cols));
    let request = request.attr("p", Given::Real(p)).attr("seed", Given::Int(seed));
    request.run(context, &[x.into()], &mut [y.into()])
}
