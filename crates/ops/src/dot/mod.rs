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
    op: &definition::Dot,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// The product of two vectors, with up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::dot::dot;
/// use proofmark_tensor::Pool;
///
/// assert_eq!(dot(&[1.0f32, 2.0, 3.0], &[4.0, 5.0, -6.0], &Pool::serial(), 1)?, -4.0);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If the lengths differ.
pub fn dot<T: Stored>(x: &[T], y: &[T], pool: &Pool, threads: usize) -> Result<f32, LibraryError> {
    let case = Case::new("dot", T::DTYPE).axis("b", 1).axis("s", 1).axis("d", x.len() as u64);
    let mut z = [0.0f32];
    library::run(&ENTRY, &case, &[x.into(), y.into()], &mut [(&mut z[..]).into()], pool, threads)?;
    Ok(z[0])
}
