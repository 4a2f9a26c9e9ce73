//! Reductions: an axis of x, or all of it, becomes one number; one generic body, one table.
//!
//! ```text
//! sum        y = Σ x              max        y = max x
//! mean       y = Σ x / n          argmax     y = first place of max x
//! variance   y = Σ (x − mean x)² / (n − correction)
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `d` | elements of a row |
//!
//! Variants: `axis` = `d` (default), `s`, `b` or `all` is the axis that is reduced; y has the
//! others, or one element for `all`, and its rows lie without gaps. `correction` (variance) is
//! what is taken from the count, 0 or 1. Places count along the reduced axis; for `all` in the
//! order of rows.
//!
//! Everything is computed in f32 and rounded to the element type once; y of `argmax` is u32.
//!
//! Edges: each member's own, in its definition in `members.rs` and in `proofmark list --op`.
//!
//! A new member is a block in `members.rs`, its truth in `oracle.rs`, and a line here.

mod definition;
mod kernels;
mod laws;
mod members;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::stored::Stored;
use crate::library::{self, LibraryError};
use members::Member;
use proofmark_contract::{Entry, Mutant};
use proofmark_schema::{AttrValue, Case};
use proofmark_tensor::{Element, Pool};

/// `sum` with everything that belongs to it.
pub static SUM: Entry = entry::<members::Sum<false>, 1>(mutants::SUM);
/// `mean` with everything that belongs to it.
pub static MEAN: Entry = entry::<members::Sum<true>, 1>(mutants::MEAN);
/// `max` with everything that belongs to it.
pub static MAX: Entry = entry::<members::Max, 1>(mutants::MAX);
/// `argmax` with everything that belongs to it.
pub static ARGMAX: Entry = entry::<members::ArgMax, 2>(mutants::ARGMAX);
/// `variance` with everything that belongs to it.
pub static VARIANCE: Entry = entry::<members::Variance, 2>(mutants::VARIANCE);

const fn entry<M: Member<K>, const K: usize>(mutants: &'static [Mutant]) -> Entry {
    Entry {
        op: const { &M::DEFINITION },
        kernels: kernels::all::<M, K>(),
        mutants,
        suite: include_str!("suite.toml"),
    }
}

/// Applies one of this module's members to an axis (`d`, `s`, `b` or `all`) of `x`, whose sizes are
/// those of `b`, `s` and `d`, with up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::reduce::{ARGMAX, SUM, reduce};
/// use proofmark_tensor::Pool;
///
/// let x = [1.0f32, 5.0, 2.0, 7.0, -1.0, 7.0];
/// let (mut rows, mut columns, mut place) = ([0.0f32; 2], [0.0f32; 3], [0u32; 1]);
/// reduce(&SUM, &x, [1, 2, 3], "d", &mut rows, &Pool::serial(), 1)?;
/// reduce(&SUM, &x, [1, 2, 3], "s", &mut columns, &Pool::serial(), 1)?;
/// reduce(&ARGMAX, &x, [1, 2, 3], "all", &mut place, &Pool::serial(), 1)?;
/// assert_eq!((rows, columns, place), ([8.0, 13.0], [8.0, 4.0, 9.0], [3]));
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If lengths or element types do not fit, or `axis` is none of them.
pub fn reduce<T: Stored, U: Element>(
    member: &Entry,
    x: &[T],
    sizes: [usize; 3],
    axis: &str,
    y: &mut [U],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let [b, s, d] = sizes.map(|size| size as u64);
    let case = Case::new(member.op.name(), T::DTYPE)
        .axis("b", b)
        .axis("s", s)
        .axis("d", d)
        .attr("axis", AttrValue::Word(axis.to_owned()));
    library::run(member, &case, &[x.into()], &mut [y.into()], pool, threads)
}
