//! Transposed matrices: rows become columns, bit by bit.
//!
//! ```text
//! y[b,j,i] = x[b,i,j]
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | matrices |
//! | `m` | rows of x |
//! | `n` | columns of x |
//!
//! No variants; rows of x and of y may have any stride.
//!
//! Edges: elements are moved, not computed with: NaN, infinities, subnormals and the sign of zero
//! stay as they are. An empty axis writes nothing.

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
use crate::library::{Context, Error, Mat, MatMut, Request};
use proofmark_contract::Entry;

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::Transpose,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// Writes the transpose of `x` to `y`.
///
/// ```
/// use proofmark_ops::{Context, Mat, MatMut, transpose::transpose};
///
/// let x = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let mut y = [0.0f32; 6];
/// transpose(&Context::serial(), Mat::new(&x, 2, 3), MatMut::new(&mut y, 3, 2))?;
/// assert_eq!(y, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If `y` does not have the sizes of the transpose.
pub fn transpose<T: Stored>(
    context: &Context,
    x: Mat<'_, T>,
    y: MatMut<'_, T>,
) -> Result<(), Error> {
    batched(context, 1, x, y)
}

/// As [`transpose`], of `batches` matrices below each other.
///
/// # Errors
/// If the rows cannot be divided among the matrices, or as for [`transpose`].
pub fn batched<T: Stored>(
    context: &Context,
    batches: usize,
    x: Mat<'_, T>,
    y: MatMut<'_, T>,
) -> Result<(), Error> {
    let each = x.rows.checked_div(batches).unwrap_or(0);
    let request = Request::new(&ENTRY, T::DTYPE);
    let request = request.axis("b", batches).axis("m", each).axis("n", x.cols);
    request.run(context, &[x.into()], &mut [y.into()])
}
