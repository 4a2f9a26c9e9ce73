//! Attention: for each query the mean of the values, weighted by a softmax over its scores.
//!
//! ```text
//! s[b,h,i,j] = scale · Σ_c q[b,h,i,c] · k[b,g,j,c]                    g = h / (H / KV)
//! o[b,h,i,c] = Σ_j exp(s[b,h,i,j] − m[b,h,i]) · v[b,g,j,c] / Σ_j exp(s[b,h,i,j] − m[b,h,i])
//! ```
//!
//! with `m` the greatest score of the query, and j over the keys that it sees.
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | problems in the batch |
//! | `h` | heads of queries, H |
//! | `kv` | heads of keys and values, KV; divides H: that many neighbours share one (GQA, MQA) |
//! | `q` | queries of a head |
//! | `t` | keys of a head |
//! | `d` | elements of a query, a key and a value |
//!
//! Variants: `mask=causal` shows a query the keys up to its own position, where the last query
//! stands at the last key (so one query sees all); `mask=window` shows only the last `window` of
//! those. `scale=0` means 1/√d. Everything is computed in f32 and rounded to the element type
//! once. Every operand may have padded rows. `amx` (16 bits on AMX tiles, 16 queries and more)
//! takes subnormal bf16 as 0, and its contract says so; its weights are as good as f32.
//!
//! Edges:
//! - A query that sees no key gives zeros: all of them if `t = 0`, and under a mask with more
//!   queries than keys the first `q − t`.
//! - NaN or an infinity in a value reaches its column in the rows that see it.
//! - A score of -infinity gives the key no weight, as a mask does, and a row of nothing else
//!   gives zeros; a score of +infinity or NaN makes the whole row NaN. (PyTorch 2.15 gives zeros
//!   for a row of NaN scores, and in 16 bits for one with a score of +infinity.)
//! - Finite scores of any size are right: the shift by the maximum rules overflow out.
//! - What unseen keys and values hold does not matter while it is finite. NaN or an infinity
//!   there may reach rows that do not see it, because kernels multiply whole tiles by 0.
//! - Empty axes write nothing.

mod definition;
mod kernels;
mod laws;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::stored::Stored;
use crate::library::{self, LibraryError};
use proofmark_contract::Entry;
use proofmark_schema::{AttrValue, Case};
use proofmark_tensor::Pool;

/// Attention with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::Attention,
    kernels: &[
        &kernels::CHUNKED,
        &kernels::AMX,
        &kernels::PARALLEL,
        &kernels::SIMD,
        &kernels::SCALAR,
    ],
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// Multiply-adds of a case whose queries see every key that some query sees.
pub(crate) fn products(case: &Case) -> usize {
    let problem = definition::Problem::of(case);
    let last = problem.queries.saturating_sub(1);
    let seen = problem.visible(last).end.saturating_sub(problem.visible(0).start);
    2 * problem.rows() * seen * problem.width
}

/// The sizes of one call of [`attention`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// Problems in the batch.
    pub batches: usize,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values.
    pub kv_heads: usize,
    /// Queries of a head.
    pub queries: usize,
    /// Keys of a head.
    pub keys: usize,
    /// Elements of a query, a key, a value.
    pub width: usize,
    /// A query sees the keys up to its own position.
    pub is_causal: bool,
}

/// Writes the attention of `q` over the keys `k` and values `v` to `o`, with up to `threads`
/// threads of `pool`. All are dense: heads within problems, queries or keys within heads.
///
/// ```
/// use proofmark_ops::attention::{Heads, attention};
/// use proofmark_tensor::Pool;
///
/// let sizes = Heads {
///     batches: 1, heads: 1, kv_heads: 1, queries: 2, keys: 2, width: 1, is_causal: true,
/// };
/// let mut o = [0.0f32; 2];
/// // The second query scores both keys alike.
/// attention(sizes, &[1.0, 0.0], &[3.0, 4.0], &[10.0, 20.0], &mut o, &Pool::serial(), 1)?;
/// assert_eq!(o, [10.0, 15.0]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If a slice does not have the length that the sizes say, or `kv_heads` does not divide `heads`.
pub fn attention<T: Stored>(
    sizes: Heads,
    q: &[T],
    k: &[T],
    v: &[T],
    o: &mut [T],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let mask = if sizes.is_causal { "causal" } else { "none" };
    let case = Case::new("attention", T::DTYPE)
        .axis("b", sizes.batches as u64)
        .axis("h", sizes.heads as u64)
        .axis("kv", sizes.kv_heads as u64)
        .axis("q", sizes.queries as u64)
        .axis("t", sizes.keys as u64)
        .axis("d", sizes.width as u64)
        .attr("mask", AttrValue::Word(mask.to_owned()));
    let inputs = [q.into(), k.into(), v.into()];
    library::run(&ENTRY, &case, &inputs, &mut [o.into()], pool, threads)
}
