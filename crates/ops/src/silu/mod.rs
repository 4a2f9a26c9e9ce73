//! SiLU: every element times its own logistic function.
//!
//! ```text
//! y[b,s,i] = x[b,s,i] · σ(x[b,s,i])        σ(x) = 1 / (1 + e^−x)
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `d` | elements of a row |
//!
//! No variants. Everything is computed in f32 and rounded to the element type once.
//!
//! Edges, as IEEE arithmetic gives them for `x · σ(x)` and for `x / (1 + e^−x)` alike:
//! - NaN in, NaN out, at that element only; no other element is touched by it.
//! - +infinity stays; -infinity is NaN (`-infinity · 0`, `-infinity / infinity`).
//! - The sign of zero is kept: -0 gives -0.
//! - Subnormal elements count: they are halved. Large negative elements give what `x·e^x` rounds
//!   to, subnormal results included, and -0 from there on. A kernel whose `e^−x` overflows below
//!   -88 gives -0 too early and is wrong.
//! - Nothing overflows: |y| ≤ |x|.
//! - Empty axes write nothing.

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

/// SiLU with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::Silu,
    kernels: &[&kernels::Parallel, &kernels::Simd, &kernels::Scalar],
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// Writes `x·σ(x)` to `y`, with up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::silu::silu;
/// use proofmark_tensor::Pool;
///
/// let mut y = [0.0f32; 3];
/// silu(&[0.0, 3f32.ln(), -3f32.ln()], &mut y, &Pool::serial(), 1)?;
/// // σ(ln 3) is 3/4 and σ(−ln 3) is 1/4.
/// assert_eq!(y[0], 0.0);
/// assert!((y[1] - 0.75 * 3f32.ln()).abs() < 1e-6);
/// assert!((y[2] + 0.25 * 3f32.ln()).abs() < 1e-6);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If `y` is not as long as `x`, or `T` is not f32, bf16 or f16.
pub fn silu<T: Stored>(
    x: &[T],
    y: &mut [T],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let case = Case::new("silu", T::DTYPE).axis("b", 1).axis("s", 1).axis("d", x.len() as u64);
    library::run(&ENTRY, &case, &[x.into()], &mut [y.into()], pool, threads)
}
