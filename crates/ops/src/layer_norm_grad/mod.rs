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
#[cfg(feature = "judge")]
mod judge;
mod kernels;
#[cfg(feature = "judge")]
mod mutants;
#[cfg(feature = "judge")]
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::stored::Stored;
pub use crate::layer_norm::Options;
use crate::library::{Context, Error, Given, Mat, MatMut, Request};
use proofmark_contract::Entry;

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::LayerNormGrad,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// The gradients with respect to the operands of a layer normalisation.
#[derive(Debug)]
pub struct Gradients<'a, T> {
    /// With respect to the input.
    pub x: MatMut<'a, T>,
    /// With respect to the weight.
    pub gamma: &'a mut [T],
    /// With respect to the bias.
    pub beta: &'a mut [T],
}

/// Writes the gradients with respect to `x`, `gamma` and `beta`, from `x`, `gamma` and the gradient
/// `dy` with respect to the output.
///
/// ```
/// use proofmark_ops::{Context, Mat, MatMut, layer_norm::Options};
/// use proofmark_ops::layer_norm_grad::{self, Gradients};
///
/// let (x, dy) = ([5.0f32, 9.0], [3.0, 4.0]);
/// let (mut dx, mut gamma, mut beta) = ([0.0f32; 2], [0.0; 2], [0.0; 2]);
/// let into =
///     Gradients { x: MatMut::from(&mut dx), gamma: &mut gamma, beta: &mut beta };
/// let options = Options { eps: 0.0 };
/// let context = Context::serial();
/// let (x, dy) = (Mat::from(&x), Mat::from(&dy));
/// layer_norm_grad::with(&context, &options, x, &[1.0, 1.0], dy, into)?;
/// // A row of two is always normalised to -1 and 1: nothing moves it.
/// assert_eq!((dx, gamma, beta), ([0.0, 0.0], [-3.0, 4.0], [3.0, 4.0]));
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ, or `eps` is not from 0 to 1.
pub fn with<T: Stored>(
    context: &Context,
    options: &Options,
    x: Mat<'_, T>,
    gamma: &[T],
    dy: Mat<'_, T>,
    into: Gradients<'_, T>,
) -> Result<(), Error> {
    let request = Request::rows(&ENTRY, T::DTYPE, (x.rows, x.cols));
    let request = request.attr("eps", Given::Real(options.eps));
    let outputs = &mut [into.x.into(), into.gamma.into(), into.beta.into()];
    request.run(context, &[x.into(), gamma.into(), dy.into()], outputs)
}

/// As [`with`], with the default options.
///
/// # Errors
/// As for [`with`].
pub fn layer_norm_grad<T: Stored>(
    context: &Context,
    x: Mat<'_, T>,
    gamma: &[T],
    dy: Mat<'_, T>,
    into: Gradients<'_, T>,
) -> Result<(), Error> {
    with(context, &Options::default(), x, gamma, dy, into)
}
