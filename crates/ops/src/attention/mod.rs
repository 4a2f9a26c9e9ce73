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
#[cfg(feature = "judge")]
mod judge;
mod kernels;
#[cfg(feature = "judge")]
mod laws;
#[cfg(feature = "judge")]
mod mutants;
#[cfg(feature = "judge")]
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::stored::Stored;
use crate::library::{Context, Error, Given, Mat, MatMut, Request};
use proofmark_contract::Entry;
use proofmark_terms::Case;

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
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// Multiply-adds of a case whose queries see every key that some query sees.
pub(crate) fn products(case: &Case) -> usize {
    let problem = definition::Problem::of(case);
    let last = problem.queries.saturating_sub(1);
    let seen = problem.visible(last).end.saturating_sub(problem.visible(0).start);
    2 * problem.rows() * seen * problem.width
}

/// Which keys a query sees. The last query stands at the last key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mask {
    /// All of them.
    #[default]
    None,
    /// Those up to its own position.
    Causal,
    /// The last of those up to its own position; the number says how many.
    Window(usize),
}

/// How rows are divided among problems and heads, and what a query sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Problems in the batch.
    pub batches: usize,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values; it divides `heads`.
    pub kv_heads: usize,
    /// Which keys a query sees.
    pub mask: Mask,
    /// What scores are multiplied by; 0 means one over the root of the width.
    pub scale: f64,
}

impl Default for Options {
    /// One problem, one head, no mask.
    fn default() -> Options {
        Options { batches: 1, heads: 1, kv_heads: 1, mask: Mask::None, scale: 0.0 }
    }
}

/// Writes the attention of the queries `q` over the keys `k` and the values `v` to `o`, for one
/// head.
///
/// # Errors
/// As for [`Options::run`].
pub fn attention<T: Stored>(
    context: &Context,
    q: Mat<'_, T>,
    k: Mat<'_, T>,
    v: Mat<'_, T>,
    o: MatMut<'_, T>,
) -> Result<(), Error> {
    Options::default().run(context, q, k, v, o)
}

impl Options {
    /// As [`attention`], with these options. A row is a query, a key or a value. The rows of a head
    /// stand below each other, then those of the next head, then those of the next problem.
    ///
    /// ```
    /// use proofmark_ops::attention::{Mask, Options};
    /// use proofmark_ops::{Context, Mat, MatMut};
    ///
    /// let (q, k, v) = ([1.0f32, 0.0], [3.0, 4.0], [10.0, 20.0]);
    /// let [q, k, v] = [&q, &k, &v].map(|x| Mat::new(x, 2, 1));
    /// let mut o = [0.0f32; 2];
    /// let causal = Options { mask: Mask::Causal, ..Options::default() };
    /// causal.run(&Context::serial(), q, k, v, MatMut::new(&mut o, 2, 1))?;
    /// // The second query scores both keys alike.
    /// assert_eq!(o, [10.0, 15.0]);
    /// # Ok::<(), proofmark_ops::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the sizes differ, `kv_heads` does not divide `heads`, or an option is out of range.
    pub fn run<T: Stored>(
        &self,
        context: &Context,
        q: Mat<'_, T>,
        k: Mat<'_, T>,
        v: Mat<'_, T>,
        o: MatMut<'_, T>,
    ) -> Result<(), Error> {
        let Options { batches, heads, kv_heads, mask, scale } = *self;
        let each = |rows: usize, heads: usize| {
            rows.checked_div(batches.saturating_mul(heads)).unwrap_or(0)
        };
        let request = Request::new(&ENTRY, T::DTYPE)
            .axis("b", batches)
            .axis("h", heads)
            .axis("kv", kv_heads)
            .axis("q", each(q.rows, heads))
            .axis("t", each(k.rows, kv_heads))
            .axis("d", q.cols)
            .attr("scale", Given::Real(scale));
        let request = match mask {
            Mask::None => request,
            Mask::Causal => request.attr("mask", Given::Word("causal")),
            Mask::Window(window) => request
                .attr("mask", Given::Word("window"))
                .attr("window", Given::Int(window as i64)),
        };
        request.run(context, &[q.into(), k.into(), v.into()], &mut [o.into()])
    }
}
