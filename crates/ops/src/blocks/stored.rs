//! Element types that vectors load as f32 and store by rounding once.

use super::fp8;
use proofmark_simd::Simd;
use proofmark_tensor::{Element, F8E4m3, F8E5m2, bf16, f16};

/// An element type whose values kernels compute on as f32.
pub trait Stored: Element {
    /// The value as f32, exactly.
    fn widen(self) -> f32;

    /// Rounds to nearest even.
    fn narrow(value: f32) -> Self;

    /// Loads the first `S::LANES` elements.
    fn load<S: Simd>(simd: S, from: &[Self]) -> S::F;

    /// Loads a tail shorter than a vector; the other lanes hold `fill`.
    fn load_partial<S: Simd>(simd: S, from: &[Self], fill: f32) -> S::F;

    /// Stores the first `S::LANES` elements.
    fn store<S: Simd>(simd: S, value: S::F, to: &mut [Self]);

    /// Stores as many lanes as `to` is long.
    fn store_partial<S: Simd>(simd: S, value: S::F, to: &mut [Self]);
}

impl Stored for f32 {
    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }

    #[inline(always)]
    fn narrow(value: f32) -> f32 {
        value
    }

    #[inline(always)]
    fn load<S: Simd>(simd: S, from: &[f32]) -> S::F {
        simd.load(from)
    }

    #[inline(always)]
    fn load_partial<S: Simd>(simd: S, from: &[f32], fill: f32) -> S::F {
        simd.load_partial(from, fill)
    }

    #[inline(always)]
    fn store<S: Simd>(simd: S, value: S::F, to: &mut [f32]) {
        simd.store(value, to);
    }

    #[inline(always)]
    fn store_partial<S: Simd>(simd: S, value: S::F, to: &mut [f32]) {
        simd.store_partial(value, to);
    }
}

/// The two 16-bit types differ only in which conversion they name.
macro_rules! stored_in_16_bits {
    ($type:ty, $load:ident, $load_partial:ident, $store:ident, $store_partial:ident) => {
        impl Stored for $type {
            #[inline(always)]
            fn widen(self) -> f32 {
                self.to_f32()
            }

            #[inline(always)]
            fn narrow(value: f32) -> $type {
                <$type>::from_f32(value)
            }

            #[inline(always)]
            fn load<S: Simd>(simd: S, from: &[$type]) -> S::F {
                simd.$load(bits(from))
            }

            #[inline(always)]
            fn load_partial<S: Simd>(simd: S, from: &[$type], fill: f32) -> S::F {
                simd.$load_partial(bits(from), fill)
            }

            #[inline(always)]
            fn store<S: Simd>(simd: S, value: S::F, to: &mut [$type]) {
                simd.$store(value, bits_mut(to));
            }

            #[inline(always)]
            fn store_partial<S: Simd>(simd: S, value: S::F, to: &mut [$type]) {
                simd.$store_partial(value, bits_mut(to));
            }
        }
    };
}

stored_in_16_bits!(bf16, load_bf16, load_bf16_partial, store_bf16, store_bf16_partial);
stored_in_16_bits!(f16, load_f16, load_f16_partial, store_f16, store_f16_partial);

impl Stored for i8 {
    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from(self)
    }

    #[inline(always)]
    fn narrow(value: f32) -> i8 {
        // `as` saturates and sends NaN to 0.
        value.round_ties_even() as i8
    }

    #[inline(always)]
    fn load<S: Simd>(simd: S, from: &[i8]) -> S::F {
        simd.from_int(simd.load_i8(from))
    }

    #[inline(always)]
    fn load_partial<S: Simd>(simd: S, from: &[i8], fill: f32) -> S::F {
        debug_assert!(fill == 0.0, "bytes past the end are 0");
        simd.from_int(simd.load_i8_partial(from))
    }

    #[inline(always)]
    fn store<S: Simd>(simd: S, value: S::F, to: &mut [i8]) {
        simd.store_i8(saturated(simd, value), to);
    }

    #[inline(always)]
    fn store_partial<S: Simd>(simd: S, value: S::F, to: &mut [i8]) {
        simd.store_i8_partial(saturated(simd, value), to);
    }
}

/// The nearest bytes; NaN becomes 0.
#[inline(always)]
fn saturated<S: Simd>(simd: S, value: S::F) -> S::I {
    let number = simd.select(simd.is_nan(value), simd.zero(), value);
    simd.to_int(simd.min(simd.max(number, simd.splat(-128.0)), simd.splat(127.0)))
}

/// The two 8-bit floats differ in their format, [`fp8::Format`].
macro_rules! stored_as_fp8 {
    ($type:ty) => {
        impl Stored for $type {
            #[inline(always)]
            fn widen(self) -> f32 {
                self.to_f32()
            }

            #[inline(always)]
            fn narrow(value: f32) -> $type {
                <$type as Element>::from_f64(f64::from(value))
            }

            #[inline(always)]
            fn load<S: Simd>(simd: S, from: &[$type]) -> S::F {
                fp8::decode::<S, $type>(simd, simd.load_i8(bytes(from)))
            }

            #[inline(always)]
            fn load_partial<S: Simd>(simd: S, from: &[$type], fill: f32) -> S::F {
                debug_assert!(fill == 0.0, "codes past the end are 0");
                fp8::decode::<S, $type>(simd, simd.load_i8_partial(bytes(from)))
            }

            #[inline(always)]
            fn store<S: Simd>(simd: S, value: S::F, to: &mut [$type]) {
                simd.store_i8(fp8::encode::<S, $type>(simd, value), bytes_mut(to));
            }

            #[inline(always)]
            fn store_partial<S: Simd>(simd: S, value: S::F, to: &mut [$type]) {
                simd.store_i8_partial(fp8::encode::<S, $type>(simd, value), bytes_mut(to));
            }
        }
    };
}

stored_as_fp8!(F8E4m3);
stored_as_fp8!(F8E5m2);

#[inline(always)]
fn bytes<T: Element>(values: &[T]) -> &[i8] {
    assert!(size_of::<T>() == 1);
    // SAFETY: one byte each, and `Element` admits every bit pattern.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
}

#[inline(always)]
fn bytes_mut<T: Element>(values: &mut [T]) -> &mut [i8] {
    assert!(size_of::<T>() == 1);
    // SAFETY: one byte each, and `Element` admits every bit pattern.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len()) }
}

#[inline(always)]
fn bits<T: Element>(values: &[T]) -> &[u16] {
    assert!(size_of::<T>() == size_of::<u16>() && align_of::<T>() == align_of::<u16>());
    // SAFETY: same size and alignment as u16, and `Element` admits every bit pattern.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
}

#[inline(always)]
fn bits_mut<T: Element>(values: &mut [T]) -> &mut [u16] {
    assert!(size_of::<T>() == size_of::<u16>() && align_of::<T>() == align_of::<u16>());
    // SAFETY: same size and alignment as u16, and `Element` admits every bit pattern.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len()) }
}
