//! The trait of element types, and conversion of bytes whose type is known at run time.

use super::fp8::{F8E4m3, F8E5m2, Overflow};
use super::round::{BF16, F16, Format, ieee_code};
use half::{bf16, f16};
use proofmark_terms::DType;
use std::fmt::Debug;

/// A type that tensors are made of.
///
/// # Safety
/// Every bit pattern of `size_of::<Self>()` bytes is a valid value, there is no padding, and
/// `DTYPE.size()` is that size: bytes may be viewed as slices of it.
pub unsafe trait Element: Copy + Send + Sync + PartialEq + Debug + 'static {
    /// Its name at run time.
    const DTYPE: DType;

    /// The value; exact, except for `i64` beyond 2^53.
    fn to_f64(self) -> f64;

    /// The nearest value, ties to even, rounded once.
    ///
    /// Floats keep NaN, infinities and the sign of zero; beyond the largest finite number f32,
    /// f16 and bf16 go to infinity and fp8 saturates. (e4m3 has no infinity, so that saturates
    /// too.) Integers saturate, and NaN becomes 0.
    fn from_f64(value: f64) -> Self;

    /// Rounds values as [`Element::from_f64`] does.
    fn round_all(values: &mut [f64]) {
        values.iter_mut().for_each(|value| *value = Self::from_f64(*value).to_f64());
    }
}

/// Values that are examined as one block: where all are plain, a branch-free loop rounds them.
const TOGETHER: usize = 32;

/// Rounds values to a 16-bit format; `slow` rounds those that are not plain.
fn round_plain(format: Format, values: &mut [f64], slow: fn(f64) -> f64) {
    for chunk in values.chunks_mut(TOGETHER) {
        if chunk.iter().fold(true, |all, value| all & format.is_plain(value.to_bits())) {
            for value in chunk {
                *value = f64::from_bits(format.rounded(value.to_bits()));
            }
        } else {
            chunk.iter_mut().for_each(|value| *value = slow(*value));
        }
    }
}

/// The code of a value in a 16-bit format whose infinity has that code.
#[inline]
fn half_code(value: f64, format: Format, infinity: u32) -> u16 {
    let bits = value.to_bits();
    let code = match format.is_plain(bits) {
        true => format.plain_code(bits),
        false => ieee_code(value, format, infinity),
    };
    sign_bit(value) | code as u16
}

// SAFETY: a primitive without padding or invalid bits, of the named size.
unsafe impl Element for f64 {
    const DTYPE: DType = DType::F64;

    #[inline]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline]
    fn from_f64(value: f64) -> f64 {
        value
    }
}

// SAFETY: a primitive without padding or invalid bits, of the named size.
unsafe impl Element for f32 {
    const DTYPE: DType = DType::F32;

    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline]
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
}

/// The sign of `value` as the top bit of a 16-bit float.
fn sign_bit(value: f64) -> u16 {
    u16::from(value.is_sign_negative()) << 15
}

// SAFETY: transparent over u16, every pattern of which is a number, an infinity or a NaN.
unsafe impl Element for f16 {
    const DTYPE: DType = DType::F16;

    /// As `half`'s own conversion, but without its branches for a normal number.
    #[inline]
    fn to_f64(self) -> f64 {
        let code = u64::from(self.to_bits());
        let magnitude = code & 0x7fff;
        if (0x0400..0x7c00).contains(&magnitude) {
            let bits = (code & 0x8000) << 48 | ((magnitude << 42) + (1008 << 52));
            return f64::from_bits(bits);
        }
        f16::to_f64(self)
    }

    /// Not `half`'s own conversion, which goes through f32 on x86 and so rounds twice.
    #[inline]
    fn from_f64(value: f64) -> f16 {
        f16::from_bits(half_code(value, F16, 0x7c00))
    }

    fn round_all(values: &mut [f64]) {
        round_plain(F16, values, |value| Element::to_f64(<f16 as Element>::from_f64(value)));
    }
}

// SAFETY: transparent over u16, every pattern of which is a number, an infinity or a NaN.
unsafe impl Element for bf16 {
    const DTYPE: DType = DType::Bf16;

    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(f32::from_bits(u32::from(self.to_bits()) << 16))
    }

    #[inline]
    fn from_f64(value: f64) -> bf16 {
        bf16::from_bits(half_code(value, BF16, 0x7f80))
    }

    fn round_all(values: &mut [f64]) {
        round_plain(BF16, values, |value| Element::to_f64(<bf16 as Element>::from_f64(value)));
    }
}

// SAFETY: transparent over u8, every pattern of which is a number or a NaN.
unsafe impl Element for F8E4m3 {
    const DTYPE: DType = DType::F8e4m3;

    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(self.to_f32())
    }

    fn from_f64(value: f64) -> F8E4m3 {
        F8E4m3::from_f64(value, Overflow::Saturate)
    }
}

// SAFETY: transparent over u8, every pattern of which is a number, an infinity or a NaN.
unsafe impl Element for F8E5m2 {
    const DTYPE: DType = DType::F8e5m2;

    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(self.to_f32())
    }

    fn from_f64(value: f64) -> F8E5m2 {
        // What is infinite already stays so: decoding and encoding must not change a tensor.
        let overflow = if value.is_infinite() { Overflow::NanInf } else { Overflow::Saturate };
        F8E5m2::from_f64(value, overflow)
    }
}

macro_rules! integer_elements {
    ($($integer:ty => $dtype:expr),*) => {$(
        // SAFETY: a primitive without padding or invalid bits, of the named size.
        unsafe impl Element for $integer {
            const DTYPE: DType = $dtype;

            #[inline]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline]
            fn from_f64(value: f64) -> $integer {
                // `as` saturates and sends NaN to 0.
                value.round_ties_even() as $integer
            }
        }
    )*};
}
integer_elements!(
    i8 => DType::I8, u8 => DType::U8, i32 => DType::I32, u32 => DType::U32, i64 => DType::I64
);

/// Evaluates an expression with `$element` standing for the type that `$dtype` names.
macro_rules! with_element {
    ($dtype:expr, $element:ident => $body:expr) => {{
        use proofmark_terms::DType;
        macro_rules! arm {
            ($named:ty) => {{
                type $element = $named;
                $body
            }};
        }
        match $dtype {
            DType::F64 => arm!(f64),
            DType::F32 => arm!(f32),
            DType::F16 => arm!(half::f16),
            DType::Bf16 => arm!(half::bf16),
            DType::F8e4m3 => arm!($crate::bits::F8E4m3),
            DType::F8e5m2 => arm!($crate::bits::F8E5m2),
            DType::I8 => arm!(i8),
            DType::U8 => arm!(u8),
            DType::I32 => arm!(i32),
            DType::U32 => arm!(u32),
            DType::I64 => arm!(i64),
        }
    }};
}

fn decode_as<T: Element>(bytes: &[u8]) -> Vec<f64> {
    assert_eq!(bytes.len() % size_of::<T>(), 0, "bytes are no whole number of elements");
    let elements = bytes.chunks_exact(size_of::<T>());
    // SAFETY: a chunk has the bytes of one T, any bits are a valid `Element`, and the read does
    // not ask for alignment.
    elements.map(|chunk| unsafe { chunk.as_ptr().cast::<T>().read_unaligned() }.to_f64()).collect()
}

fn encode_as<T: Element>(values: &[f64], bytes: &mut [u8]) {
    assert_eq!(bytes.len(), values.len() * size_of::<T>(), "bytes for the values");
    for (chunk, &value) in bytes.chunks_exact_mut(size_of::<T>()).zip(values) {
        // SAFETY: a chunk has the bytes of one T, and the write does not ask for alignment.
        unsafe { chunk.as_mut_ptr().cast::<T>().write_unaligned(T::from_f64(value)) };
    }
}

/// The values of elements in memory; any address.
///
/// # Panics
/// If `bytes` is no whole number of elements.
pub fn decode(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    with_element!(dtype, T => decode_as::<T>(bytes))
}

/// Writes values as elements, each rounded as [`Element::from_f64`] does; any address.
///
/// # Panics
/// If `bytes` is not exactly as long as the elements.
pub fn encode(dtype: DType, values: &[f64], bytes: &mut [u8]) {
    with_element!(dtype, T => encode_as::<T>(values, bytes));
}

/// `value` rounded to the element type, as [`Element::from_f64`] does.
pub fn round_to(dtype: DType, value: f64) -> f64 {
    with_element!(dtype, T => <T as Element>::from_f64(value).to_f64())
}

/// Rounds every value to the element type, as [`round_to`] does.
pub fn round_all(dtype: DType, values: &mut [f64]) {
    with_element!(dtype, T => <T as Element>::round_all(values));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_agree_with_the_names() {
        for dtype in DType::ALL {
            with_element!(dtype, T => {
                assert_eq!(size_of::<T>(), dtype.size());
                assert_eq!(T::DTYPE, dtype);
            });
        }
    }

    #[test]
    fn every_16_bit_code_survives_the_way_through_f64() {
        for code in 0..=u16::MAX {
            let half = f16::from_bits(code);
            let back = <f16 as Element>::from_f64(Element::to_f64(half));
            assert!(back.to_bits() == code || half.is_nan() && back.is_nan());
            let brain = bf16::from_bits(code);
            let back = <bf16 as Element>::from_f64(Element::to_f64(brain));
            assert!(back.to_bits() == code || brain.is_nan() && back.is_nan());
        }
    }

    #[test]
    fn values_rounded_together_are_as_each_alone() {
        let codes = (0..=u16::MAX).map(|code| f64::from(f32::from_bits(u32::from(code) << 16)));
        let between = (0..200_000u64).map(|n| f64::from_bits(crate::mix(7, n, 1)));
        let near = (0..200_000u64).map(|n| (crate::mix(7, n, 2) as f64 / 2f64.powi(62)).powi(3));
        let all: Vec<f64> = codes.chain(between).chain(near).collect();
        for dtype in [DType::F16, DType::Bf16] {
            let mut together = all.clone();
            round_all(dtype, &mut together);
            for (&value, &got) in all.iter().zip(&together) {
                let code = match dtype {
                    DType::F16 => sign_bit(value) | ieee_code(value, F16, 0x7c00) as u16,
                    _ => sign_bit(value) | ieee_code(value, BF16, 0x7f80) as u16,
                };
                let want = match dtype {
                    DType::F16 => f16::from_bits(code).to_f64(),
                    _ => bf16::from_bits(code).to_f64(),
                };
                let is_same = want.to_bits() == got.to_bits() || want.is_nan() && got.is_nan();
                assert!(is_same, "{dtype}: {value:e} is {got:e}, not {want:e}");
                let alone = round_to(dtype, value);
                assert!(alone.to_bits() == got.to_bits() || alone.is_nan() && got.is_nan());
            }
        }
    }

    #[test]
    fn floats_keep_nan_infinity_and_the_sign_of_zero() {
        for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
            assert!(round_to(dtype, f64::NAN).is_nan(), "{dtype}");
            assert!(round_to(dtype, -0.0).is_sign_negative(), "{dtype}");
            let infinite = if dtype == DType::F8e4m3 { -448.0 } else { f64::NEG_INFINITY };
            assert_eq!(round_to(dtype, f64::NEG_INFINITY), infinite, "{dtype}");
            assert_eq!(round_to(dtype, dtype.largest()), dtype.largest(), "{dtype}");
            assert_eq!(round_to(dtype, dtype.smallest()), dtype.smallest(), "{dtype}");
        }
    }

    #[test]
    fn a_double_just_above_a_tie_is_not_rounded_twice() {
        // Through f32 the last bit is lost and the tie goes down to even.
        let above_tie = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(round_to(DType::F16, above_tie), 1.0 + 2f64.powi(-10));
        let above_tie = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
        assert_eq!(round_to(DType::Bf16, above_tie), 1.0 + 2f64.powi(-7));
    }

    #[test]
    fn integers_round_to_even_and_saturate() {
        let i8_cases = [(0.5, 0.0), (1.5, 2.0), (-2.5, -2.0), (300.0, 127.0), (-1e9, -128.0)];
        for (value, want) in i8_cases {
            assert_eq!(round_to(DType::I8, value), want);
        }
        assert_eq!(round_to(DType::U8, -3.0), 0.0);
        assert_eq!(round_to(DType::U32, 1e30), f64::from(u32::MAX));
        assert_eq!(round_to(DType::I64, f64::NAN), 0.0);
    }

    #[test]
    fn bytes_at_odd_addresses_encode_and_decode() {
        let values = [1.0, -2.0, 0.5, 0.0];
        for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
            let mut bytes = vec![0; 4 * dtype.size() + 1];
            encode(dtype, &values, &mut bytes[1..]);
            assert_eq!(decode(dtype, &bytes[1..]), values, "{dtype}");
        }
    }
}
