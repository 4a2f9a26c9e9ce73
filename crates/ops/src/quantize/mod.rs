//! Quantisation to 8 bits and back: groups of elements share one scale.
//!
//! ```text
//! quantize    codes = nearest(x · inverse) + zero     scales = range / steps
//! dequantize  y     = (codes − zero) · scale
//! ```
//!
//! | op and its reverse | axes | what shares a scale |
//! |---|---|---|
//! | `quantize_int8` | `b`, `s`, `d` | `scheme`: the `tensor`, a row (`channel`), a `group` of it |
//! | `quantize_fp8` | `m`, `n` | `block`: the `tensor`, `1x128`, `128x128`; `unit`: nothing |
//!
//! The last group of a row or of rows may be short. Every result is defined to the bit, so codes
//! and scales have tolerance 0. With f32 arithmetic, each step rounded to nearest even:
//! - `range` = greatest |x| of the group; for int8 with `symmetric=false` it is
//!   `max(x, 0) − min(x, 0)`.
//! - `steps` = 127 (int8), 255 (not symmetric), 448 (e4m3), 57344 (e5m2).
//! - `scale` = `range / steps`; `inverse` = `steps / range`.
//! - int8: `code` = `x · inverse` to the nearest integer, ties to even, plus `zero`, clamped to
//!   −128..=127; `zero` is 0, or if not symmetric the nearest integer to
//!   `−128 − min(x, 0) · inverse`, clamped likewise.
//! - fp8: `code` = `x · inverse` rounded to nearest even. Scaled elements never exceed the largest
//!   number; with `block=unit` they may: `overflow=saturate` gives the largest with its sign, also
//!   for infinities, `overflow=nan` gives NaN (e4m3) or infinity (e5m2).
//!
//! Edges:
//! - A group of zeros, or one whose `inverse` is infinite (range below about 2^-119), has scale 0
//!   and all codes and its zero 0. So has a group without elements.
//! - A group with NaN or an infinity, or whose range overflows, has scale NaN and all codes and
//!   its zero 0: what is computed from it is NaN and cannot pass for data. (`block=unit`: NaN
//!   stays NaN, infinities follow `overflow`.)
//! - Signs of zero are kept by fp8 codes. Subnormals count.
//! - Dequantised values are computed in f32 and rounded once more to a 16-bit element type.

mod definition;
mod flaw;
mod kernels;
mod laws;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::library::{self, LibraryError};
use definition::Quantize;
use proofmark_contract::{Entry, Kernel};
use proofmark_schema::{AttrValue, Case, DType};
use proofmark_tensor::Pool;

const FORWARD: &[&dyn Kernel] = &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR];

/// `quantize_int8` with everything that belongs to it.
pub static QUANTIZE_INT8: Entry = Entry {
    op: &Quantize::QUANTIZE_INT8,
    kernels: FORWARD,
    mutants: mutants::QUANTIZE_INT8,
    suite: include_str!("suite.toml"),
};

/// `dequantize_int8` with everything that belongs to it.
pub static DEQUANTIZE_INT8: Entry = Entry {
    op: &Quantize::DEQUANTIZE_INT8,
    kernels: FORWARD,
    mutants: mutants::DEQUANTIZE_INT8,
    suite: include_str!("suite.toml"),
};

/// `quantize_fp8` with everything that belongs to it.
pub static QUANTIZE_FP8: Entry = Entry {
    op: &Quantize::QUANTIZE_FP8,
    kernels: FORWARD,
    mutants: mutants::QUANTIZE_FP8,
    suite: include_str!("suite_fp8.toml"),
};

/// `dequantize_fp8` with everything that belongs to it.
pub static DEQUANTIZE_FP8: Entry = Entry {
    op: &Quantize::DEQUANTIZE_FP8,
    kernels: FORWARD,
    mutants: mutants::DEQUANTIZE_FP8,
    suite: include_str!("suite_fp8.toml"),
};

/// Quantises rows of `length` elements to bytes in groups of 32, one scale each; a row's last
/// group may be short. Uses up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::quantize::quantize_int8;
/// use proofmark_tensor::Pool;
///
/// let (mut codes, mut scales) = ([0i8; 4], [0.0f32; 1]);
/// quantize_int8(&[1.0, -2.0, 0.5, 0.0], 4, &mut codes, &mut scales, &Pool::serial(), 1)?;
/// assert_eq!(codes, [64, -127, 32, 0]);
/// assert_eq!(scales, [2.0 / 127.0]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If lengths do not fit each other.
pub fn quantize_int8(
    x: &[f32],
    length: usize,
    codes: &mut [i8],
    scales: &mut [f32],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let case = grouped("quantize_int8", x.len(), length);
    let outputs = &mut [codes.into(), scales.into()];
    library::run(&QUANTIZE_INT8, &case, &[x.into()], outputs, pool, threads)
}

/// The reverse of [`quantize_int8`].
///
/// # Errors
/// If lengths do not fit each other.
pub fn dequantize_int8(
    codes: &[i8],
    scales: &[f32],
    length: usize,
    y: &mut [f32],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let case = grouped("dequantize_int8", codes.len(), length);
    let inputs = [codes.into(), scales.into()];
    library::run(&DEQUANTIZE_INT8, &case, &inputs, &mut [y.into()], pool, threads)
}

fn grouped(op: &str, elements: usize, length: usize) -> Case {
    Case::new(op, DType::F32)
        .axis("b", 1)
        .axis("s", elements.checked_div(length).unwrap_or(0) as u64)
        .axis("d", length as u64)
        .attr("scheme", AttrValue::Word("group".to_owned()))
}
