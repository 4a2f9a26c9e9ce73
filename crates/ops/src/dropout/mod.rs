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
mod kernels;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::stored::Stored;
use crate::library::{self, LibraryError};
use proofmark_contract::Entry;
use proofmark_schema::{AttrValue, Case};
use proofmark_tensor::Pool;

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::Dropout,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// Drops the part `p` of `x` on the way to `y`, at places that `seed` alone decides. Uses up to
/// `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::dropout::dropout;
/// use proofmark_tensor::Pool;
///
/// let (x, mut y) = ([1.0f32; 8], [0.0; 8]);
/// dropout(&x, &mut y, 0.5, 7, &Pool::serial(), 1)?;
/// assert!(y.iter().all(|&y| y == 0.0 || y == 2.0));
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If `y` is not as long as `x`, or `p` is not from 0 to 1.
pub fn dropout<T: Stored>(
    x: &[T],
    y: &mut [T],
    p: f64,
    seed: i64,
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let case = Case::new("dropout", T::DTYPE)
        .axis("b", 1)
        .axis("s", 1)
        .axis("d", x.len() as u64)
        .attr("p", AttrValue::Real(p))
        .attr("seed", AttrValue::Int(seed));
    library::run(&ENTRY, &case, &[x.into()], &mut [y.into()], pool, threads)
}
