//! Softmax: every row becomes a distribution, `e` to its elements over their sum.
//!
//! ```text
//! y[b,s,i] = exp(x[b,s,i] − m[b,s]) / Σ_j exp(x[b,s,j] − m[b,s])        m[b,s] = max_j x[b,s,j]
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | problems in the batch |
//! | `s` | rows of a problem |
//! | `d` | elements of a row, over which the sum is taken |
//!
//! Everything is computed in f32 and rounded to the element type once. The flag `inplace` makes
//! one operand of x and y. The word `mask=causal` lets row `i` of a problem see columns 0 to
//! `d − s + i` only, so that the last row sees all; the others count as -infinity, whatever they
//! hold.
//!
//! Edges, as IEEE arithmetic gives them:
//! - NaN or +infinity anywhere in a row makes the whole row NaN.
//! - -infinity gives 0, as a mask does; a row of nothing else is NaN (0 / 0), so is
//!   one that a causal mask hides whole (`s > d`).
//! - Finite elements of any size are right: the shift by the maximum rules overflow out.
//! - Subnormal results are kept. Results are never negative.
//! - `d = 0` and empty batches write nothing.

mod definition;
mod kernels;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::row::RowKernel;
use crate::blocks::stored::Stored;
use crate::library::{self, LibraryError};
use definition::Softmax;
use proofmark_contract::Entry;
use proofmark_schema::{AttrValue, Case};
use proofmark_tensor::Pool;

/// Softmax with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &Softmax,
    kernels: RowKernel::<Softmax>::ALL,
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// Writes the softmax of each row of `length` elements of `x` to `y`, with up to `threads`
/// threads of `pool`.
///
/// ```
/// use proofmark_ops::softmax::softmax;
/// use proofmark_tensor::Pool;
///
/// let mut y = [0.0f32; 4];
/// softmax(&[1000.0f32, 1000.0, 0.0, f32::NEG_INFINITY], &mut y, 2, &Pool::serial(), 1)?;
/// assert_eq!(y, [0.5, 0.5, 1.0, 0.0]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If `y` is not as long as `x`, `x` is not a whole number of rows, or the element type is not
/// done.
pub fn softmax<T: Stored>(
    x: &[T],
    y: &mut [T],
    length: usize,
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let case = rows_of::<T>(x.len(), length);
    library::run(&ENTRY, &case, &[x.into()], &mut [y.into()], pool, threads)
}

/// As [`softmax`], in place.
///
/// # Errors
/// If `x` is not a whole number of rows, or the element type is not done.
pub fn softmax_in_place<T: Stored>(
    x: &mut [T],
    length: usize,
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let case = rows_of::<T>(x.len(), length).attr("inplace", AttrValue::Flag(true));
    library::run(&ENTRY, &case, &[], &mut [x.into()], pool, threads)
}

fn rows_of<T: Stored>(elements: usize, length: usize) -> Case {
    let rows = elements.checked_div(length).unwrap_or(0);
    Case::new("softmax", T::DTYPE).axis("b", 1).axis("s", rows as u64).axis("d", length as u64)
}
