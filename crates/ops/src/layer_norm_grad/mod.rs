//! The gradient of layer normalisation: what a change of the loss by y means for x and weights.
//!
//! ```text
//! dx[b,s,i] = r·(a[i] − mean_j a[j] − h[i]·mean_j a[j]·h[j])        a = dy · gamma
//! dgamma[i] = Σ_bs dy[b,s,i]·h[b,s,i]        dbeta[i] = Σ_bs dy[b,s,i]
//! h[b,s,i] = (x[b,s,i] − μ)·r        μ = mean_j x[j]        r = 1 / √(mean_j (x[j] − μ)² + eps)
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `d` | elements of a row, over which the means are taken |
//!
//! Mean and root are computed anew from x. Everything is computed in f32 and rounded to the
//! element type once, the sums of the weights' gradients too. Rows far from zero are right: the
//! variance is that of differences from the mean.
//!
//! Edges:
//! - NaN makes its row of dx and its column of dgamma and dbeta NaN, in x all of dgamma; so does an
//!   infinity in x. An infinity in dy or gamma makes infinities or NaN of its row, which of them
//!   is not promised.
//! - With `eps = 0` a row of equal elements is NaN. Squares are f32, as in `layer_norm`.
//! - The sign of a zero is free. Without rows dgamma and dbeta are 0; `d = 0` writes nothing.

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
    op: &definition::LayerNormGrad,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// Writes the gradients by x, gamma and beta, in this order, from x, gamma and the gradient `dy` by
/// the result; a row is as long as `gamma`. Uses up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::layer_norm_grad::layer_norm_grad;
/// use proofmark_tensor::Pool;
///
/// let (mut dx, mut dgamma, mut dbeta) = ([0.0f32; 2], [0.0; 2], [0.0; 2]);
/// let outputs = [&mut dx[..], &mut dgamma, &mut dbeta];
/// layer_norm_grad([&[5.0, 9.0], &[1.0, 1.0], &[3.0, 4.0]], outputs, 0.0, &Pool::serial(), 1)?;
/// // A row of two is always normalised to -1 and 1: nothing moves it.
/// assert_eq!((dx, dgamma, dbeta), ([0.0, 0.0], [-3.0, 4.0], [3.0, 4.0]));
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If lengths do not fit each other, or `eps` is not from 0 to 1.
pub fn layer_norm_grad<T: Stored>(
    [x, gamma, dy]: [&[T]; 3],
    [dx, dgamma, dbeta]: [&mut [T]; 3],
    eps: f64,
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let rows = x.len().checked_div(gamma.len()).unwrap_or(0);
    let case = Case::new("layer_norm_grad", T::DTYPE)
        .axis("b", 1)
        .axis("s", rows as u64)
        .axis("d", gamma.len() as u64)
        .attr("eps", AttrValue::Real(eps));
    let inputs = [x.into(), gamma.into(), dy.into()];
    let outputs = &mut [dx.into(), dgamma.into(), dbeta.into()];
    library::run(&ENTRY, &case, &inputs, outputs, pool, threads)
}
