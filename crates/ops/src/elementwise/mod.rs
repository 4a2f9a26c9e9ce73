//! Elementwise ops: one formula applied to every element; one generic body, one table of members.
//!
//! ```text
//! add    c[b,s,d] = a[b,s,d] + b[b,s,d]
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `d` | elements of a row |
//!
//! Variants:
//! - `inplace`: the first operand is overwritten with the result.
//! - `rounding=stochastic` (bf16): the f32 result is rounded up in magnitude with a probability
//!   equal to the fraction that truncation would drop, as training updates want it. The random
//!   bits are a function of the element's logical index and of the operand `random`, so the result
//!   is defined to the bit, whatever the threads and strides:
//!   `out = top 16 bits of (bits(s) + r)`, `r` = low 16 bits of word 0 of Philox4x32-10 with
//!   counter `[index, index >> 32, random[2], random[3]]` and key `[random[0], random[1]]`.
//!
//! 16-bit elements are computed in f32 and rounded once, to nearest even where nothing else is
//! said.
//!
//! Edges, as IEEE arithmetic gives them:
//! - NaN in, NaN out, at that element only; `inf + -inf` is NaN; other infinities stay.
//! - Beyond the largest number the result is infinite; a stochastic carry may take it there too.
//! - `-0 + -0` is `-0`; `x + -x` is `+0`. The sign of zero is part of the result.
//! - Subnormal operands count and subnormal results are kept.
//! - An empty axis writes nothing.
//!
//! A new member is its formula in `members.rs`, its truth in `oracle.rs`, its mutants, and a line
//! here.

mod definition;
mod kernels;
mod laws;
mod members;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::library::{self, LibraryError};
use kernels::{Parallel, Scalar, Vector};
use members::{Add, Member};
use proofmark_contract::{Entry, Kernel, Mutant};
use proofmark_schema::{Case, DType};
use proofmark_tensor::Pool;

/// `add` with everything that belongs to it.
pub static ADD: Entry = entry(&Add, mutants::ADD);

/// A member with the family's kernels.
const fn entry<M: Member<N>, const N: usize>(_: &M, mutants: &'static [Mutant]) -> Entry {
    Entry {
        op: const { &M::DEFINITION },
        kernels: const {
            &[
                &Parallel::<M, N>::NEW as &dyn Kernel,
                &Vector::<M, N>::NEW as &dyn Kernel,
                &Scalar::<M, N>::NEW as &dyn Kernel,
            ]
        },
        mutants,
        suite: include_str!("suite.toml"),
    }
}

/// Writes `a + b` to `c`, element by element.
///
/// ```
/// use proofmark_ops::elementwise::add;
///
/// let mut c = [0.0; 3];
/// add(&[1.0, 2.0, -0.0], &[0.5, f32::INFINITY, -0.0], &mut c)?;
/// assert_eq!(c, [1.5, f32::INFINITY, 0.0]);
/// assert!(c[2].is_sign_negative());
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If the lengths differ.
pub fn add(a: &[f32], b: &[f32], c: &mut [f32]) -> Result<(), LibraryError> {
    let case = Case::new("add", DType::F32).axis("b", 1).axis("s", 1).axis("d", a.len() as u64);
    library::run(&ADD, &case, &[a.into(), b.into()], &mut [c.into()], &Pool::serial(), 1)
}
