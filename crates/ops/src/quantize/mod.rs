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
#[cfg(feature = "judge")]
mod flaw;
#[cfg(feature = "judge")]
mod judge;
mod kernels;
#[cfg(feature = "judge")]
mod laws;
#[cfg(feature = "judge")]
mod mutants;
#[cfg(feature = "judge")]
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::stored::Stored;
use crate::library::{Context, Error, Given, Input, Mat, MatMut, Output, Request};
use definition::Quantize;
use proofmark_contract::{Entry, Kernel};
use proofmark_tensor::{Element, F8E4m3, F8E5m2, Overflow};

const FORWARD: &[&dyn Kernel] = &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR];

/// `quantize_int8` with everything that belongs to it.
pub static QUANTIZE_INT8: Entry = Entry {
    op: &Quantize::QUANTIZE_INT8,
    kernels: FORWARD,
    #[cfg(feature = "judge")]
    mutants: mutants::QUANTIZE_INT8,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// `dequantize_int8` with everything that belongs to it.
pub static DEQUANTIZE_INT8: Entry = Entry {
    op: &Quantize::DEQUANTIZE_INT8,
    kernels: FORWARD,
    #[cfg(feature = "judge")]
    mutants: mutants::DEQUANTIZE_INT8,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// `quantize_fp8` with everything that belongs to it.
pub static QUANTIZE_FP8: Entry = Entry {
    op: &Quantize::QUANTIZE_FP8,
    kernels: FORWARD,
    #[cfg(feature = "judge")]
    mutants: mutants::QUANTIZE_FP8,
    #[cfg(feature = "judge")]
    suite: include_str!("suite_fp8.toml"),
};

/// `dequantize_fp8` with everything that belongs to it.
pub static DEQUANTIZE_FP8: Entry = Entry {
    op: &Quantize::DEQUANTIZE_FP8,
    kernels: FORWARD,
    #[cfg(feature = "judge")]
    mutants: mutants::DEQUANTIZE_FP8,
    #[cfg(feature = "judge")]
    suite: include_str!("suite_fp8.toml"),
};

/// Which elements of a matrix share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// All.
    Tensor,
    /// Those of a row.
    Row,
    /// This many neighbours of a row: 32, 64 or 128. A row's last group may be short.
    Group(usize),
}

/// Bytes with their scales, as they are read.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'a> {
    /// The codes.
    pub codes: Mat<'a, i8>,
    /// A scale for each that the scheme has.
    pub scales: &'a [f32],
    /// A zero point for each scale, unless the codes are symmetric.
    pub zeros: Option<&'a [i32]>,
}

/// Bytes with their scales, as they are written.
#[derive(Debug)]
pub struct CodesMut<'a> {
    /// The codes.
    pub codes: MatMut<'a, i8>,
    /// A scale for each that the scheme has.
    pub scales: &'a mut [f32],
    /// A zero point for each scale, unless the codes are symmetric.
    pub zeros: Option<&'a mut [i32]>,
}

/// Writes `x`, quantised to bytes, to `into`.
///
/// ```
/// use proofmark_ops::quantize::{CodesMut, Scheme, quantize_int8};
/// use proofmark_ops::{Context, Mat, MatMut};
///
/// let (mut codes, mut scales) = ([0i8; 4], [0.0f32; 1]);
/// let into = CodesMut { codes: MatMut::from(&mut codes), scales: &mut scales, zeros: None };
/// let x = [1.0f32, -2.0, 0.5, 0.0];
/// quantize_int8(&Context::serial(), Scheme::Group(32), Mat::from(&x), into)?;
/// assert_eq!(codes, [64, -127, 32, 0]);
/// assert_eq!(scales, [2.0 / 127.0]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ, or there is no such group.
pub fn quantize_int8<T: Stored>(
    context: &Context,
    scheme: Scheme,
    x: Mat<'_, T>,
    into: CodesMut<'_>,
) -> Result<(), Error> {
    let CodesMut { codes, scales, zeros } = into;
    let request = bytes::<T>(&QUANTIZE_INT8, scheme, (x.rows, x.cols), zeros.is_none());
    let (codes, scales): (Output<'_>, Output<'_>) = (codes.into(), scales.into());
    match zeros {
        None => request.run(context, &[x.into()], &mut [codes, scales]),
        Some(zeros) => request.run(context, &[x.into()], &mut [codes, scales, zeros.into()]),
    }
}

/// The reverse of [`quantize_int8`].
///
/// # Errors
/// As for [`quantize_int8`].
pub fn dequantize_int8<T: Stored>(
    context: &Context,
    scheme: Scheme,
    x: Codes<'_>,
    y: MatMut<'_, T>,
) -> Result<(), Error> {
    let Codes { codes, scales, zeros } = x;
    let request = bytes::<T>(&DEQUANTIZE_INT8, scheme, (y.rows, y.cols), zeros.is_none());
    let (codes, scales): (Input<'_>, Input<'_>) = (codes.into(), scales.into());
    match zeros {
        None => request.run(context, &[codes, scales], &mut [y.into()]),
        Some(zeros) => request.run(context, &[codes, scales, zeros.into()], &mut [y.into()]),
    }
}

fn bytes<T: Element>(
    entry: &'static Entry,
    scheme: Scheme,
    sizes: (usize, usize),
    is_symmetric: bool,
) -> Request {
    let request = Request::rows(entry, T::DTYPE, sizes);
    let request = match scheme {
        Scheme::Tensor => request.attr("scheme", Given::Word("tensor")),
        Scheme::Row => request.attr("scheme", Given::Word("channel")),
        Scheme::Group(group) => {
            request.attr("scheme", Given::Word("group")).attr("group", Given::Int(group as i64))
        }
    };
    request.attr("symmetric", Given::Flag(is_symmetric))
}

/// An 8-bit float that [`quantize_fp8`] writes.
pub trait Fp8: Element {
    /// Its name in cases.
    #[doc(hidden)]
    const FORMAT: &'static str;
}

impl Fp8 for F8E4m3 {
    const FORMAT: &'static str = "e4m3";
}

impl Fp8 for F8E5m2 {
    const FORMAT: &'static str = "e5m2";
}

/// Which elements of a matrix of 8-bit floats share a scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Block {
    /// All.
    #[default]
    Tensor,
    /// 128 neighbours of a row.
    Row128,
    /// Squares of 128 by 128.
    Square128,
}

/// Writes `x`, quantised to 8-bit floats, to `codes`, and the scale of each block to `scales`.
///
/// # Errors
/// If the sizes differ.
pub fn quantize_fp8<T: Stored, U: Fp8>(
    context: &Context,
    block: Block,
    overflow: Overflow,
    x: Mat<'_, T>,
    codes: MatMut<'_, U>,
    scales: &mut [f32],
) -> Result<(), Error> {
    let request = floats::<T, U>(&QUANTIZE_FP8, block, overflow, (x.rows, x.cols));
    request.run(context, &[x.into()], &mut [codes.into(), scales.into()])
}

/// The reverse of [`quantize_fp8`].
///
/// # Errors
/// If the sizes differ.
pub fn dequantize_fp8<T: Stored, U: Fp8>(
    context: &Context,
    block: Block,
    codes: Mat<'_, U>,
    scales: &[f32],
    y: MatMut<'_, T>,
) -> Result<(), Error> {
    let sizes = (y.rows, y.cols);
    let request = floats::<T, U>(&DEQUANTIZE_FP8, block, Overflow::Saturate, sizes);
    request.run(context, &[codes.into(), scales.into()], &mut [y.into()])
}

fn floats<T: Element, U: Fp8>(
    entry: &'static Entry,
    block: Block,
    overflow: Overflow,
    (rows, cols): (usize, usize),
) -> Request {
    let block = match block {
        Block::Tensor => "tensor",
        Block::Row128 => "1x128",
        Block::Square128 => "128x128",
    };
    let overflow = match overflow {
        Overflow::Saturate => "saturate",
        Overflow::NanInf => "nan",
    };
    Request::new(entry, T::DTYPE)
        .axis("m", rows)
        .axis("n", cols)
        .attr("format", Given::Word(U::FORMAT))
        .attr("block", Given::Word(block))
        .attr("overflow", Given::Word(overflow))
}
