//! Products with weights of 8 bits: groups of a weight row share a scale, activations are f32.
//!
//! ```text
//! y[m,n] = Σ_k x[m,k] · codes[n,k] · scales[n, k/group]
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `m` | rows of `x` and `y` |
//! | `n` | rows of weights, columns of `y` |
//! | `k` | terms of each sum |
//!
//! Variants: `group` is 32, 64 or 128 terms; the last group of a row may be short. Scales lie
//! densely. Activations are not quantised: that is `matmul_int8`.
//!
//! Edges: a weight is `code · scale`, so a NaN scale makes its column NaN, and an infinite one too
//! where a code is 0. NaN in a row of `x` makes that row of `y` NaN. `k = 0` gives 0.

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

use crate::library::{Context, Error, Given, Mat, MatMut, Request};
use proofmark_contract::Entry;
use proofmark_terms::DType;

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::MatmulQ8,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// Weights as signed bytes with a scale for each group of a row.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    /// A row for each column of the result.
    pub codes: Mat<'a, i8>,
    /// The scales of the first row, then those of the next.
    pub scales: &'a [f32],
    /// Codes of a group: 32, 64 or 128. A row's last group may be short.
    pub group: usize,
}

/// Writes `x · wᵀ` to `y`.
///
/// ```
/// use proofmark_ops::{Context, Mat, MatMut, matmul_q8::{Weights, matmul_q8}};
///
/// let codes = [3i8, -4, 5, 6];
/// let w = Weights { codes: Mat::new(&codes, 2, 2), scales: &[0.5, 2.0], group: 32 };
/// let mut y = [0.0; 2];
/// matmul_q8(&Context::serial(), Mat::from(&[1.0, 2.0]), w, MatMut::from(&mut y))?;
/// assert_eq!(y, [-2.5, 34.0]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ.
pub fn matmul_q8(
    context: &Context,
    x: Mat<'_, f32>,
    w: Weights<'_>,
    y: MatMut<'_, f32>,
) -> Result<(), Error> {
    let request = Request::new(&ENTRY, DType::F32)
        .axis("m", x.rows)
        .axis("n", w.codes.rows)
        .axis("k", x.cols)
        .attr("group", Given::Int(w.group as i64));
    request.run(context, &[x.into(), w.codes.into(), w.scales.into()], &mut [y.into()])
}
