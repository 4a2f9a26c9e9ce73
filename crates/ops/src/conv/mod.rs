//! Convolutions along one axis and along two.
//!
//! ```text
//! conv1d  y[b,o,i]   = bias[o] + Σ x[b,c,at(i,k)] · w[o,c,k]
//! conv2d  y[b,o,i,j] = bias[o] + Σ x[b,c,at(i,p),at(j,q)] · w[o,c,p,q]
//!         at(i,k) = i·stride + k·dilation − pad; x is 0 outside
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | images in the batch |
//! | `c` | channels of an image |
//! | `o` | channels of a result |
//! | `h`, `w` | rows and columns of a channel (conv2d) |
//! | `l` | elements of a channel (conv1d) |
//!
//! Variants: `kh`, `kw` (conv1d: `k`) taps, `stride`, `pad` zeros on either side, `dilation`;
//! `groups` divides c and o, and a channel of the result sees the channels of its own group only
//! (`groups` = c is depthwise); `bias=true` adds an operand `[o]`. Taps are not reversed.
//! x is `[b,c,h,w]`, w `[o,c/groups,kh,kw]`, all operands f32 without gaps; sums in f32.
//!
//! Edges: NaN, or 0 times infinity, makes NaN of the results whose taps fall on it and of no
//! other; what an infinite or NaN weight makes of a tap on padding is free, because libraries
//! differ (some multiply by the zero, some skip it). Subnormal products count; no channels give the
//! bias or 0; the sign of a zero is free; empty results are left alone.

mod definition;
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

use crate::library::{Context, Error, Given, Request};
use proofmark_contract::{Entry, Kernel};
use proofmark_terms::DType;

const KERNELS: &[&dyn Kernel] =
    &[&kernels::PARALLEL, &kernels::SIMD, &kernels::WINOGRAD, &kernels::IM2COL, &kernels::SCALAR];

/// `conv1d` with everything that belongs to it.
pub static CONV1D: Entry = Entry {
    op: &definition::Conv::CONV1D,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::IM2COL, &kernels::SCALAR],
    #[cfg(feature = "judge")]
    mutants: mutants::CONV1D,
    #[cfg(feature = "judge")]
    suite: include_str!("suite_1d.toml"),
};

/// `conv2d` with everything that belongs to it.
pub static CONV2D: Entry = Entry {
    op: &definition::Conv::CONV2D,
    kernels: KERNELS,
    #[cfg(feature = "judge")]
    mutants: mutants::CONV2D,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// The weights of a convolution along `N` axes, and how they are moved over an image.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a, const N: usize> {
    /// `[outputs, channels / groups, taps…]`.
    pub data: &'a [f32],
    /// Channels of the result.
    pub outputs: usize,
    /// Taps along each axis.
    pub taps: [usize; N],
    /// Added to each channel of the result.
    pub bias: Option<&'a [f32]>,
    /// Elements from one result to the next.
    pub stride: usize,
    /// Zeros before the first and after the last element.
    pub pad: usize,
    /// Elements from one tap to the next.
    pub dilation: usize,
    /// Groups of channels that know nothing of each other.
    pub groups: usize,
}

impl<'a, const N: usize> Weights<'a, N> {
    /// Weights of `outputs` channels without a bias, at every element, without padding.
    pub fn new(data: &'a [f32], outputs: usize, taps: [usize; N]) -> Weights<'a, N> {
        Weights { data, outputs, taps, bias: None, stride: 1, pad: 0, dilation: 1, groups: 1 }
    }
}

/// Writes the convolution of `x`, of `[b, c, l]` elements, along its last axis to `y`.
///
/// ```
/// use proofmark_ops::conv::{Weights, conv1d};
/// use proofmark_ops::Context;
///
/// let edges = Weights::new(&[-1.0, 1.0], 1, [2]);
/// let mut y = [0.0; 3];
/// conv1d(&Context::serial(), &[1.0, 2.0, 4.0, 7.0], [1, 1, 4], edges, &mut y)?;
/// assert_eq!(y, [1.0, 2.0, 3.0]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the lengths do not fit the sizes.
pub fn conv1d(
    context: &Context,
    x: &[f32],
    [b, c, l]: [usize; 3],
    weights: Weights<'_, 1>,
    y: &mut [f32],
) -> Result<(), Error> {
    let request = Request::new(&CONV1D, DType::F32)
        .axis("b", b)
        .axis("c", c)
        .axis("o", weights.outputs)
        .axis("l", l)
        .attr("k", Given::Int(weights.taps[0] as i64));
    run(request, context, x, weights, y)
}

/// Writes the convolution of `x`, of `[b, c, h, w]` elements, along its last two axes to `y`.
///
/// # Errors
/// If the lengths do not fit the sizes.
pub fn conv2d(
    context: &Context,
    x: &[f32],
    [b, c, h, w]: [usize; 4],
    weights: Weights<'_, 2>,
    y: &mut [f32],
) -> Result<(), Error> {
    let request = Request::new(&CONV2D, DType::F32)
        .axis("b", b)
        .axis("c", c)
        .axis("o", weights.outputs)
        .axis("h", h)
        .axis("w", w)
        .attr("kh", Given::Int(weights.taps[0] as i64))
        .attr("kw", Given::Int(weights.taps[1] as i64));
    run(request, context, x, weights, y)
}

fn run<const N: usize>(
    request: Request,
    context: &Context,
    x: &[f32],
    weights: Weights<'_, N>,
    y: &mut [f32],
) -> Result<(), Error> {
    let Weights { data, bias, stride, pad, dilation, groups, .. } = weights;
    let int = |value: usize| Given::Int(value as i64);
    let request = request.attr("stride", int(stride)).attr("pad", int(pad));
    let request = request.attr("dilation", int(dilation)).attr("groups", int(groups));
    match bias {
        None => request.run(context, &[x.into(), data.into()], &mut [y.into()]),
        Some(bias) => {
            let request = request.attr("bias", Given::Flag(true));
            request.run(context, &[x.into(), data.into(), bias.into()], &mut [y.into()])
        }
    }
}
