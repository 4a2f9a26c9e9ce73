//! Matrices turned over: rows become columns, bit by bit.
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
mod kernels;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::stored::Stored;
use crate::library::{self, LibraryError};
use proofmark_contract::Entry;
use proofmark_schema::Case;
use proofmark_tensor::Pool;

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::Transpose,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// Writes the `m × n` matrix `x`, turned over, to `y`, with up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::transpose::transpose;
/// use proofmark_tensor::Pool;
///
/// let mut y = [0.0f32; 6];
/// transpose(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &mut y, [2, 3], &Pool::serial(), 1)?;
/// assert_eq!(y, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If a length is not `m · n`.
pub fn transpose<T: Stored>(
    x: &[T],
    y: &mut [T],
    [m, n]: [usize; 2],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let case =
        Case::new("transpose", T::DTYPE).axis("b", 1).axis("m", m as u64).axis("n", n as u64);
    library::run(&ENTRY, &case, &[x.into()], &mut [y.into()], pool, threads)
}
