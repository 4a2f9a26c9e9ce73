//! From the range of a group of elements to the scale and inverse that they share.

use crate::blocks::stored::Stored;
use proofmark_simd::Simd;

/// What the elements of a group share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    /// What codes are multiplied by to get elements back.
    pub(crate) scale: f32,
    /// What elements are multiplied by.
    pub(crate) inverse: f32,
    /// The code of 0.
    pub(crate) zero: f32,
    /// Every code is 0.
    pub(crate) is_void: bool,
}

impl Step {
    /// Elements are their own codes.
    pub(crate) const UNIT: Step = Step { scale: 1.0, inverse: 1.0, zero: 0.0, is_void: false };

    /// The step of a group whose range is divided into `steps` steps. It is void where the inverse
    /// overflows, and its scale is NaN where the range is not finite.
    #[inline(always)]
    pub(crate) fn symmetric(range: f32, steps: f32) -> Step {
        let void = Step { scale: 0.0, inverse: 0.0, zero: 0.0, is_void: true };
        if !range.is_finite() {
            return Step { scale: f32::NAN, ..void };
        }
        let inverse = steps / range;
        if inverse.is_infinite() {
            return void;
        }
        Step { scale: range / steps, inverse, zero: 0.0, is_void: false }
    }
}

/// The greatest of 0 and `of` each element; NaN if one is.
#[inline(always)]
pub(crate) fn greatest<S: Simd, T: Stored>(simd: S, x: &[T], of: impl Fn(S::F) -> S::F) -> f32 {
    // Two chains hide the latency of the comparison.
    let mut most = [simd.zero(); 2];
    let mut pairs = x.chunks_exact(2 * S::LANES);
    for pair in &mut pairs {
        most[0] = simd.max_nan(most[0], of(T::load(simd, pair)));
        most[1] = simd.max_nan(most[1], of(T::load(simd, &pair[S::LANES..])));
    }
    let mut rest = pairs.remainder().chunks_exact(S::LANES);
    for x in &mut rest {
        most[0] = simd.max_nan(most[0], of(T::load(simd, x)));
    }
    let tail = of(T::load_partial(simd, rest.remainder(), 0.0));
    simd.reduce_max(simd.max_nan(simd.max_nan(most[0], tail), most[1]))
}
