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
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// Writes the sums `a · bᵀ` to `c`.
///
/// ```
/// use proofmark_ops::{Context, Mat, MatMut, matmul_int8::matmul_int8};
///
/// let (a, b) = ([-128i8, 2], [-128i8, 1, 3, 127]);
/// let mut c = [0; 2];
/// matmul_int8(&Context::serial(), Mat::from(&a), Mat::new(&b, 2, 2), MatMut::from(&mut c))?;
/// assert_eq!(c, [16386, -130]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ, or a row is too long for sums of 32 bits.
pub fn matmul_int8(
    context: &Context,
    a: Mat<'_, i8>,
    b: Mat<'_, i8>,
    c: MatMut<'_, i32>,
) -> Result<(), Error> {
    let request = request(&a, &b).attr("out", Given::Word("i32"));
    request.run(context, &[a.into(), b.into()], &mut [c.into()])
}

/// As [`matmul_int8`], with each sum times the scale of its row of `a` and of its row of `b`.
///
/// # Errors
/// As for [`matmul_int8`], and if there is not one scale for each row.
pub fn scaled(
    context: &Context,
    (a, scale_a): (Mat<'_, i8>, &[f32]),
    (b, scale_b): (Mat<'_, i8>, &[f32]),
    c: MatMut<'_, f32>,
) -> Result<(), Error> {
    let inputs = [a.into(), b.into(), scale_a.into(), scale_b.into()];
    request(&a, &b).run(context, &inputs, &mut [c.into()])
}

fn request(a: &Mat<'_, i8>, b: &Mat<'_, i8>) -> Request {
    let request = Request::new(&ENTRY, DType::I8);
    request.axis("m", a.rows).axis("n", b.rows).axis("k", a.cols)
}
