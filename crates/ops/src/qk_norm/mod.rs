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
#[cfg(feature = "judge")]
mod judge;
mod kernels;
#[cfg(feature = "judge")]
mod mutants;
#[cfg(feature = "judge")]
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::row::RowKernel;
use crate::blocks::stored::Stored;
use crate::library::{Context, Error, Given, Mat, MatMut, Request};
use definition::QkNorm;
use proofmark_contract::Entry;

/// The normalisation of queries and keys with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &QkNorm,
    kernels: RowKernel::<QkNorm>::ALL,
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// Writes the heads of `q` and `k`, each divided by its root mean square and times `wq` or `wk`, to
/// `yq` and `yk`. A row is a head; the heads of a position stand below each other, and there are
/// `positions` positions. `eps` is added to the mean square.
///
/// ```
/// use proofmark_ops::{Context, Mat, MatMut, qk_norm::qk_norm};
///
/// // One position with two heads of queries and one of keys.
/// let (q, k) = ([3.0f32, -3.0, 0.5, 0.5], [-2.0, 2.0]);
/// let (mut yq, mut yk) = ([0.0f32; 4], [0.0f32; 2]);
/// let inputs = [Mat::new(&q, 2, 2), Mat::new(&k, 1, 2)];
/// let outputs = [MatMut::new(&mut yq, 2, 2), MatMut::new(&mut yk, 1, 2)];
/// qk_norm(&Context::serial(), 1, inputs, [&[1.0, 2.0], &[5.0, 5.0]], 0.0, outputs)?;
/// assert_eq!((yq, yk), ([1.0, -2.0, 1.0, 2.0], [-5.0, 5.0]));
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ, or `eps` is not from 0 to 1.
pub fn qk_norm<T: Stored>(
    context: &Context,
    positions: usize,
    [q, k]: [Mat<'_, T>; 2],
    [wq, wk]: [&[T]; 2],
    eps: f64,
    [yq, yk]: [MatMut<'_, T>; 2],
) -> Result<(), Error> {
    let heads = |x: &Mat<'_, T>| x.rows.checked_div(positions).unwrap_or(0);
    let request = Request::new(&ENTRY, T::DTYPE)
        .axis("b", 1)
        .axis("s", positions)
        .axis("h", heads(&q))
        .axis("kv", heads(&k))
        .axis("d", q.cols)
        .attr("eps", Given::Real(eps));
    let inputs = [q.into(), k.into(), wq.into(), wk.into()];
    request.run(context, &inputs, &mut [yq.into(), yk.into()])
}
