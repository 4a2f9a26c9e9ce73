//! matmul: `C[b,m,n] = activation(Σ_k A[b,m,k] · B[b,k,n] + bias[n])`.
//!
//! | axis | counts |
//! |---|---|
//! | `b` | independent products |
//! | `m` | rows of A and C |
//! | `n` | columns of B and C |
//! | `k` | terms of each sum |
//!
//! Variants: `layout=nt` stores B as `[n,k]` (a linear layer's weight), `out=f32` widens the result
//! of 16-bit inputs, `shared=true` uses one B without a batch axis for all batches, `bias=true`
//! adds an operand `[n]` to every row, `activation=relu|gelu|gelu_tanh|silu` comes last. All of
//! it is done on sums in f32 and rounded once. Every operand may have padded rows.
//!
//! Edge rules: no term (`k = 0`) gives what bias and activation make of zeros; empty results are
//! left alone. Terms are never skipped: `0 · NaN` and `0 · ∞` are NaN, a NaN in a row of A fills
//! that row of C, one in a column of B that column; every activation keeps NaN, and `gelu` and
//! `silu` of -infinity are NaN (`-infinity · 0`). Subnormals are kept, but by kernels on AMX, whose
//! contract says so. The sign of a zero result is not specified. The error of an activation is
//! judged by the magnitude of its sum.

mod definition;
mod kernels;
mod laws;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::library::{self, LibraryError};
use proofmark_contract::Entry;
use proofmark_schema::{Case, DType};
use proofmark_tensor::Pool;

pub use definition::Matmul;

/// matmul with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &Matmul,
    kernels: &[
        &kernels::amx::AMX_PREPACKED,
        &kernels::amx::AMX,
        &kernels::parallel::Parallel,
        &kernels::prepacked::Prepacked,
        &kernels::simd::Simd,
        &kernels::scalar::Scalar,
    ],
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// Multiply-adds of a case.
pub(crate) fn products(case: &Case) -> usize {
    let definition::Shape { batches, m, n, k, .. } = definition::Shape::of(case);
    batches * m * n * k
}

/// `c = a · b` for dense row-major matrices: `a` is `m × k`, `b` is `k × n`, `c` is `m × n`.
///
/// ```
/// let mut c = [0.0; 4];
/// proofmark_ops::matmul::matmul(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], &mut c, 2, 2, 2)?;
/// assert_eq!(c, [19.0, 22.0, 43.0, 50.0]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If a slice does not have the length its sizes say.
pub fn matmul(
    a: &[f32],
    b: &[f32],
    c: &mut [f32],
    m: usize,
    n: usize,
    k: usize,
) -> Result<(), LibraryError> {
    let case = Case::new("matmul", DType::F32)
        .axis("b", 1)
        .axis("m", m as u64)
        .axis("n", n as u64)
        .axis("k", k as u64);
    library::run(&ENTRY, &case, &[a.into(), b.into()], &mut [c.into()], &Pool::serial(), 1)
}
