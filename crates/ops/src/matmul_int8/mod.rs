//! Products of signed bytes: exact sums in i32, scaled by row and by column.
//!
//! ```text
//! c[m,n] = sum[m,n] · scale_a[m] · scale_b[n]        sum[m,n] = Σ_k a[m,k] · b[n,k]
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `m` | rows of `a` and `c` |
//! | `n` | rows of `b`, columns of `c` |
//! | `k` | terms of each sum, at most 131071 |
//!
//! Variants: `out=f32` as above; `out=i32` writes the sums and has no scales.
//!
//! Edges:
//! - Sums are exact: all codes count, −128 too, and `k` is limited to what an i32 holds of
//!   products of −128 with −128. No pair of products saturates.
//! - With `out=f32` the sum is rounded to f32, then multiplied by `scale_a`, then by `scale_b`;
//!   NaN and infinities of scales follow IEEE arithmetic. Products that underflow are not promised.
//! - `k = 0` gives 0; empty outputs write nothing.

mod definition;
mod kernels;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::library::{self, LibraryError};
use proofmark_contract::Entry;
use proofmark_schema::{AttrValue, Case, DType};
use proofmark_tensor::Pool;

/// The product of bytes with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::MatmulInt8,
    kernels: &[
        &kernels::Amx,
        &kernels::PARALLEL,
        &kernels::BYTE_DOT,
        &kernels::SIMD,
        &kernels::SCALAR,
    ],
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// The sums `a · bᵀ` of `m × k` by `n × k` bytes, with up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::matmul_int8::matmul_int8;
/// use proofmark_tensor::Pool;
///
/// let mut c = [0; 2];
/// matmul_int8(&[-128, 2], &[-128, 1, 3, 127], &mut c, 2, &Pool::serial(), 1)?;
/// assert_eq!(c, [16386, -130]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If lengths do not fit each other, or `k` is too large.
pub fn matmul_int8(
    a: &[i8],
    b: &[i8],
    c: &mut [i32],
    k: usize,
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let rows = |len: usize| len.checked_div(k).unwrap_or(0) as u64;
    let case = Case::new("matmul_int8", DType::I8)
        .axis("m", rows(a.len()))
        .axis("n", rows(b.len()))
        .axis("k", k as u64)
        .attr("out", AttrValue::Word("i32".to_owned()));
    library::run(&ENTRY, &case, &[a.into(), b.into()], &mut [c.into()], pool, threads)
}
