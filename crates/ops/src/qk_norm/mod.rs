//! RMS normalisation of queries and keys, head by head, before they meet in attention.
//!
//! ```text
//! yq[b,s,h,i] = q[b,s,h,i] · wq[i] / √(mean_i q[b,s,h,i]² + eps)
//! yk[b,s,g,i] = k[b,s,g,i] · wk[i] / √(mean_i k[b,s,g,i]² + eps)
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `h` | heads of the queries |
//! | `kv` | heads of the keys |
//! | `d` | elements of a head, over which the mean is taken |
//!
//! The word `which` leaves one of the two out, with its operands: `both`, `q`, `k`. Every head is
//! a row of [`crate::rms_norm`] in its variant `llama`, whose edges it has.

mod definition;
mod kernels;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::row::RowKernel;
use crate::blocks::stored::Stored;
use crate::library::{self, LibraryError};
use definition::QkNorm;
use proofmark_contract::Entry;
use proofmark_schema::{AttrValue, Case};
use proofmark_tensor::Pool;

/// The normalisation of queries and keys with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &QkNorm,
    kernels: RowKernel::<QkNorm>::ALL,
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// Normalises the heads of `q` and `k` into `yq` and `yk`, weighted by `wq` and `wk`; a head is as
/// long as these. Both hold the same number of positions, `positions`. Uses up to `threads`
/// threads of `pool`.
///
/// ```
/// use proofmark_ops::qk_norm::qk_norm;
/// use proofmark_tensor::Pool;
///
/// // One position with two heads of queries and one of keys.
/// let (mut yq, mut yk) = ([0.0f32; 4], [0.0f32; 2]);
/// let inputs = [&[3.0, -3.0, 0.5, 0.5][..], &[-2.0, 2.0]];
/// let outputs = [&mut yq[..], &mut yk[..]];
/// qk_norm(inputs, [&[1.0, 2.0], &[5.0, 5.0]], outputs, (1, 0.0), &Pool::serial(), 1)?;
/// assert_eq!((yq, yk), ([1.0, -2.0, 1.0, 2.0], [-5.0, 5.0]));
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If lengths do not fit together or `eps` is not from 0 to 1.
pub fn qk_norm<T: Stored>(
    [q, k]: [&[T]; 2],
    [wq, wk]: [&[T]; 2],
    [yq, yk]: [&mut [T]; 2],
    (positions, eps): (usize, f64),
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let heads = |x: &[T]| x.len().checked_div(positions * wq.len()).unwrap_or(0) as u64;
    let case = Case::new("qk_norm", T::DTYPE)
        .axis("b", 1)
        .axis("s", positions as u64)
        .axis("h", heads(q))
        .axis("kv", heads(k))
        .axis("d", wq.len() as u64)
        .attr("eps", AttrValue::Real(eps));
    let inputs = [q.into(), k.into(), wq.into(), wk.into()];
    library::run(&ENTRY, &case, &inputs, &mut [yq.into(), yk.into()], pool, threads)
}
