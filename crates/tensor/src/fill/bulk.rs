//! Whole rows of the commonest fills, one vector after the other where the processor has them.
//!
//! The integers and doubles are the same as element by element, so the compiler must neither
//! reorder nor fuse any operation here.

use crate::random::Stream;

/// `normal` of a row's elements, the first of which has this index.
pub(super) fn normal(words: Stream, first: u64, values: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if has_vectors() {
        // SAFETY: the features were just detected.
        return unsafe { normal_avx512(words, first, values) };
    }
    normal_anywhere(words, first, values);
}

/// `low + (high - low) * u(0)` of a row's elements.
pub(super) fn uniform(words: Stream, first: u64, (low, high): (f64, f64), values: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if has_vectors() {
        // SAFETY: the features were just detected.
        return unsafe { uniform_avx512(words, first, (low, high), values) };
    }
    uniform_anywhere(words, first, (low, high), values);
}

#[cfg(target_arch = "x86_64")]
fn has_vectors() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn normal_avx512(words: Stream, first: u64, values: &mut [f64]) {
    normal_anywhere(words, first, values);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn uniform_avx512(words: Stream, first: u64, range: (f64, f64), values: &mut [f64]) {
    uniform_anywhere(words, first, range, values);
}

#[inline(always)]
fn normal_anywhere(words: Stream, first: u64, values: &mut [f64]) {
    for (at, value) in (first..).zip(values) {
        *value = super::normal(|k| words.word(at.wrapping_mul(4).wrapping_add(k)));
    }
}

#[inline(always)]
fn uniform_anywhere(words: Stream, first: u64, (low, high): (f64, f64), values: &mut [f64]) {
    for (at, value) in (first..).zip(values) {
        *value = low + (high - low) * super::uniform(words.word(at.wrapping_mul(4)));
    }
}
