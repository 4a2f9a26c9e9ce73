//! The product of two vectors, one for each row.
//!
//! ```text
//! z[b,s] = Σᵢ x[b,s,i] · y[b,s,i]
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `d` | elements of a row |
//!
//! No variants. x and y are f32, bf16 or f16; sums are kept in f32 and z is f32, rows without gaps.
//!
//! Edges: NaN, or 0 times infinity, makes NaN of its row only; infinities stay; subnormal products
//! count; an empty row gives 0; no other empty axis writes anything. The sign of a zero is free.

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
use crate::library::{Context, Error, Mat, Request, short_path};
use proofmark_contract::Entry;

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::Dot,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// The product of two vectors.
///
/// ```
/// use proofmark_ops::{Context, dot::dot};
///
/// assert_eq!(dot(&Context::serial(), &[1.0f32, 2.0, 3.0], &[4.0, 5.0, 6.0])?, 32.0);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the lengths differ.
pub fn dot<T: Stored>(context: &Context, x: &[T], y: &[T]) -> Result<f32, Error> {
    if let Some(isa) = short_path(x.len()).filter(|_| x.len() == y.len()) {
        return Ok(kernels::of_rows(isa, x, y));
    }
    let mut z = [0.0f32];
    rows(context, x, y, &mut z)?;
    Ok(z[0])
}

/// Writes the product of each row of `x` with the same row of `y` to `z`.
///
/// # Errors
/// If the sizes differ.
pub fn rows<'a, T: Stored>(
    context: &Context,
    x: impl Into<Mat<'a, T>>,
    y: impl Into<Mat<'a, T>>,
    z: &mut [f32],
) -> Result<(), Error> {
    let (x, y) = (x.into(), y.into());
    let request = Request::rows(&ENTRY, T::DTYPE, (x.rows, x.cols));
    request.run(context, &[x.into(), y.into()], &mut [z.into()])
}
