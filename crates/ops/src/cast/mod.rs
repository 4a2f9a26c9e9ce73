//! The change of element type: every element rounded once to the nearest of another type.
//!
//! ```text
//! y[b,s,i] = x[b,s,i] as `to`
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `d` | elements of a row |
//!
//! Variants: `to=f32|bf16|f16`, from each of the three. Between the two 16-bit types there is one
//! rounding too: either is exact in f32.
//!
//! Edges:
//! - Rounding is to nearest, ties to even: the result is defined to the bit.
//! - NaN stays NaN; infinities stay; beyond the largest number lies infinity.
//! - The sign of zero is kept. Subnormals count: of f16 they are normal in f32 and bf16, and
//!   results below the least normal number are subnormal.
//! - An empty axis writes nothing.

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
    op: &definition::Cast,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// Writes every element of `x`, rounded to the type of `y`.
///
/// ```
/// use proofmark_ops::{Context, cast::cast, f16};
///
/// let x = [1.0f32, 1.0 + 1.0 / 2048.0, 65520.0];
/// let mut y = [f16::ZERO; 3];
/// cast(&Context::serial(), &x, &mut y)?;
/// // A tie goes to the even neighbour; half a unit above the largest lies infinity.
/// assert_eq!(y, [f16::ONE, f16::ONE, f16::INFINITY]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ.
pub fn cast<'a, T: Stored, U: Stored>(
    context: &Context,
    x: impl Into<Mat<'a, T>>,
    y: impl Into<MatMut<'a, U>>,
) -> Result<(), Error> {
    let (x, y) = (x.into(), y.into());
    let request = Request::rows(&ENTRY, T::DTYPE, (x.rows, x.cols));
    let request = request.attr("to", Given::Word(U::DTYPE.name()));
    request.run(context, &[x.into()], &mut [y.into()])
}
