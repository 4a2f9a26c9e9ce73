//! Products of fp8 (e4m3) operands whose blocks have scales, as block-scaled training and
//! inference use them.
//!
//! ```text
//! c[m,n] = Σ_k a[m,k] · scale_a[m, k/block] · b[n,k] · scale_b[n/block, k/block]
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `m` | rows of `a` and `c` |
//! | `n` | rows of `b`, columns of `c` |
//! | `k` | terms of each sum |
//!
//! Variants:
//! - `block` is 128, 256 or 512: terms, and rows of `b`, that share a scale; last blocks may be
//!   short.
//! - `activations=given`: `a` is e4m3 with a scale for each row and block of terms.
//!   `activations=quantised`: `a` is bf16 and is quantised on the way, to the bit as
//!   `quantize_fp8` does it with blocks of one row by `block`: `scale = amax / 448`, codes of
//!   `a · (448 / amax)` rounded to nearest even; a block of zeros, or of so little that the
//!   inverse overflows, counts as 0; a block with NaN or an infinity makes its row NaN.
//! - The element type of the case is that of `c`: f32, or bf16 rounded once at the end.
//!
//! Sums are kept in f32. Scales are finite; what an infinite or NaN scale gives beyond its block
//! not being a number is not promised. NaN codes make their row or column NaN. `k = 0` gives 0.

mod definition;
mod kernels;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::library::{self, LibraryError};
use proofmark_contract::Entry;
use proofmark_schema::{AttrValue, Case, DType};
use proofmark_tensor::{F8E4m3, Pool, bf16};

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::MatmulFp8Block,
    kernels: &[
        &kernels::AMX,
        &kernels::PARALLEL,
        &kernels::DEQUANTISED,
        &kernels::PARTIAL,
        &kernels::SIMD,
        &kernels::SCALAR,
    ],
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// `a · bᵀ` in blocks of 128 for bf16 activations `a` of `k` terms a row, which are quantised on
/// the way, and e4m3 weights `b` with their scales.
///
/// ```
/// use proofmark_ops::matmul_fp8_block::matmul_fp8_block;
/// use proofmark_tensor::{F8E4m3, Overflow, Pool, bf16};
///
/// let a = [bf16::from_f32(448.0), bf16::from_f32(-2.0)];
/// let b = [1.0, 0.5].map(|value| F8E4m3::from_f32(value, Overflow::Saturate));
/// let mut c = [0.0];
/// matmul_fp8_block(&a, &b, &[2.0], &mut c, 2, &Pool::serial(), 1)?;
/// assert_eq!(c, [894.0]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If lengths do not fit each other.
pub fn matmul_fp8_block(
    a: &[bf16],
    b: &[F8E4m3],
    scale_b: &[f32],
    c: &mut [f32],
    k: usize,
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let rows = |len: usize| len.checked_div(k).unwrap_or(0) as u64;
    let case = Case::new("matmul_fp8_block", DType::F32)
        .axis("m", rows(a.len()))
        .axis("n", rows(b.len()))
        .axis("k", k as u64)
        .attr("activations", AttrValue::Word("quantised".to_owned()));
    let inputs = [a.into(), b.into(), scale_b.into()];
    library::run(&ENTRY, &case, &inputs, &mut [c.into()], pool, threads)
}
