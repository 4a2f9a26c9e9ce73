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
use crate::library::{Context, Error, Given, Mat, MatMut, Request};
use proofmark_contract::Entry;
use proofmark_tensor::{F8E4m3, bf16};

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
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// Weights in e4m3 with a scale for each square block.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    /// A row for each column of the result.
    pub codes: Mat<'a, F8E4m3>,
    /// The scales of the first row of blocks, then those of the next.
    pub scales: &'a [f32],
    /// Rows and terms of a block: 128, 256 or 512.
    pub block: usize,
}

impl Weights<'_> {
    fn request<T: Stored>(&self, rows: usize, terms: usize) -> Request {
        Request::new(&ENTRY, T::DTYPE)
            .axis("m", rows)
            .axis("n", self.codes.rows)
            .axis("k", terms)
            .attr("block", Given::Int(self.block as i64))
    }
}

/// Writes `a · wᵀ` to `c`, which is f32 or bf16. The activations `a` are quantised on the way.
///
/// ```
/// use proofmark_ops::matmul_fp8_block::{Weights, matmul_fp8_block};
/// use proofmark_ops::{Context, F8E4m3, Mat, MatMut, Overflow, bf16};
///
/// let a = [bf16::from_f32(448.0), bf16::from_f32(-2.0)];
/// let b = [1.0, 0.5].map(|value| F8E4m3::from_f32(value, Overflow::Saturate));
/// let w = Weights { codes: Mat::from(&b), scales: &[2.0], block: 128 };
/// let mut c = [0.0f32];
/// matmul_fp8_block(&Context::serial(), Mat::from(&a), w, MatMut::from(&mut c))?;
/// assert_eq!(c, [894.0]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ.
pub fn matmul_fp8_block<T: Stored>(
    context: &Context,
    a: Mat<'_, bf16>,
    w: Weights<'_>,
    c: MatMut<'_, T>,
) -> Result<(), Error> {
    let request = w.request::<T>(a.rows, a.cols).attr("activations", Given::Word("quantised"));
    request.run(context, &[a.into(), w.codes.into(), w.scales.into()], &mut [c.into()])
}

/// As [`matmul_fp8_block`], with activations that were quantised before: `scales` has one for each
/// row and block of terms.
///
/// # Errors
/// If the sizes differ.
pub fn quantised<T: Stored>(
    context: &Context,
    (a, scales): (Mat<'_, F8E4m3>, &[f32]),
    w: Weights<'_>,
    c: MatMut<'_, T>,
) -> Result<(), Error> {
    let inputs = [a.into(), scales.into(), w.codes.into(), w.scales.into()];
    w.request::<T>(a.rows, a.cols).run(context, &inputs, &mut [c.into()])
}
