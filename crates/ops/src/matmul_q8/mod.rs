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
mod kernels;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::library::{self, LibraryError};
use proofmark_contract::Entry;
use proofmark_schema::{Case, DType};
use proofmark_tensor::Pool;

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::MatmulQ8,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// `x · Wᵀ` for `n` rows of weights of `k` codes, in groups of 32 with a scale each.
///
/// ```
/// use proofmark_ops::matmul_q8::matmul_q8;
/// use proofmark_tensor::Pool;
///
/// let mut y = [0.0; 2];
/// matmul_q8(&[1.0, 2.0], &[3, -4, 5, 6], &[0.5, 2.0], &mut y, 2, &Pool::serial(), 1)?;
/// assert_eq!(y, [-2.5, 34.0]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If lengths do not fit each other.
pub fn matmul_q8(
    x: &[f32],
    codes: &[i8],
    scales: &[f32],
    y: &mut [f32],
    k: usize,
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let rows = |len: usize| len.checked_div(k).unwrap_or(0) as u64;
    let case = Case::new("matmul_q8", DType::F32)
        .axis("m", rows(x.len()))
        .axis("n", rows(codes.len()))
        .axis("k", k as u64);
    let inputs = [x.into(), codes.into(), scales.into()];
    library::run(&ENTRY, &case, &inputs, &mut [y.into()], pool, threads)
}
