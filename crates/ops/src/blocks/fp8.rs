//! Vectors of 8-bit floats: codes to f32 and back, by bit operations.

use proofmark_simd::Simd;
use proofmark_tensor::{F8E4m3, F8E5m2};

/// What tells the formats apart.
pub(super) trait Format {
    /// Bits of the fraction.
    const FRACTION: u32;
    /// What is added to the exponent.
    const BIAS: u32;
    /// Greatest f32 that still rounds to a finite number.
    const LAST: f32;
    /// Code of the largest finite number.
    const LARGEST: i32;
    /// Code of infinity, where there is one.
    const INFINITY: Option<i32>;
    /// Code of NaN.
    const NAN: i32;
}

impl Format for F8E4m3 {
    const FRACTION: u32 = 3;
    const BIAS: u32 = 7;
    // Half-way to the code that NaN took; the tie goes to 448, which is even.
    const LAST: f32 = 464.0;
    const LARGEST: i32 = 0x7e;
    const INFINITY: Option<i32> = None;
    const NAN: i32 = 0x7f;
}

impl Format for F8E5m2 {
    const FRACTION: u32 = 2;
    const BIAS: u32 = 15;
    // Below half-way to 65536, to which the tie would go.
    const LAST: f32 = 61440.0f32.next_down();
    const LARGEST: i32 = 0x7b;
    const INFINITY: Option<i32> = Some(0x7c);
    const NAN: i32 = 0x7e;
}

#[inline(always)]
fn choose<S: Simd>(simd: S, mask: S::M, if_true: S::I, if_false: S::I) -> S::I {
    simd.bits_of(simd.select(mask, simd.from_bits(if_true), simd.from_bits(if_false)))
}

/// 2^exponent.
const fn power(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

/// Exponent of the spacing of subnormals, negated.
const fn spacing<F: Format>() -> i32 {
    (F::BIAS - 1 + F::FRACTION) as i32
}

/// The values of codes in the low bytes of `code`.
#[inline(always)]
pub(super) fn decode<S: Simd, F: Format>(simd: S, code: S::I) -> S::F {
    let magnitude = simd.int_and(code, simd.int_splat(0x7f));
    let number = simd.from_int(magnitude);
    let rebias = simd.int_splat(((127 - F::BIAS) << 23) as i32);
    let normal = simd.int_add(simd.shift_left(magnitude, 23 - F::FRACTION), rebias);
    let subnormal = simd.mul(number, simd.splat(power(-spacing::<F>())));
    let is_subnormal = simd.lt(number, simd.splat((1 << F::FRACTION) as f32));
    let mut value = simd.select(is_subnormal, subnormal, simd.from_bits(normal));
    // NaN is what lies above infinity, or above the largest where there is none.
    let top = F::INFINITY.unwrap_or(F::LARGEST) as f32;
    value = simd.select(simd.lt(simd.splat(top), number), simd.splat(f32::NAN), value);
    if F::INFINITY.is_some() {
        value = simd.select(simd.eq(number, simd.splat(top)), simd.splat(f32::INFINITY), value);
    }
    let sign = simd.shift_left(simd.int_and(code, simd.int_splat(0x80)), 24);
    simd.from_bits(simd.int_or(simd.bits_of(value), sign))
}

/// The codes of the nearest values, ties to even, in the low bytes. What is finite and beyond
/// the largest becomes the largest, and so does an infinity that the format does not have.
#[inline(always)]
pub(super) fn encode<S: Simd, F: Format>(simd: S, value: S::F) -> S::I {
    let drop = 23 - F::FRACTION;
    let magnitude = simd.abs(value);
    let bits = simd.bits_of(magnitude);
    let odd = simd.int_and(simd.shift_right(bits, drop), simd.int_splat(1));
    let half = simd.int_splat((1 << (drop - 1)) - 1);
    let rounded = simd.shift_right(simd.int_add(simd.int_add(bits, odd), half), drop);
    let normal = simd.int_add(rounded, simd.int_splat(-(((127 - F::BIAS) << F::FRACTION) as i32)));
    let subnormal = simd.to_int(simd.mul(magnitude, simd.splat(power(spacing::<F>()))));
    let is_subnormal = simd.lt(magnitude, simd.splat(power(1 - F::BIAS as i32)));
    let mut code = choose(simd, is_subnormal, subnormal, normal);
    let is_beyond = simd.lt(simd.splat(F::LAST), magnitude);
    code = choose(simd, is_beyond, simd.int_splat(F::LARGEST), code);
    if let Some(infinity) = F::INFINITY {
        let is_infinite = simd.eq(magnitude, simd.splat(f32::INFINITY));
        code = choose(simd, is_infinite, simd.int_splat(infinity), code);
    }
    code = choose(simd, simd.is_nan(value), simd.int_splat(F::NAN), code);
    let sign = simd.shift_right(simd.bits_of(value), 24);
    simd.int_or(code, simd.int_and(sign, simd.int_splat(0x80)))
}

#[cfg(test)]
mod tests {
    use crate::blocks::stored::Stored;
    use proofmark_simd::{Body, Simd, available, dispatch};
    use proofmark_tensor::{Element, F8E4m3, F8E5m2};
    use proofmark_terms::Isa;
    use std::marker::PhantomData;

    struct Both<T>(PhantomData<T>);

    impl<T: Stored> Body for Both<T> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            for value in every_256th_float() {
                let mut code = [T::narrow(0.0); 16];
                T::store(simd, simd.splat(value), &mut code);
                let want = T::narrow(value).widen();
                assert!(same(code[0].widen(), want), "{value:e} becomes {:?}", code[0]);
                let mut back = [0.0; 16];
                simd.store(T::load(simd, &code), &mut back);
                assert!(same(back[0], want), "{:?} is {} to vectors", code[0], back[0]);
            }
        }
    }

    /// Of all signs and exponents, with the patterns in which ties and their neighbours lie.
    fn every_256th_float() -> impl Iterator<Item = f32> {
        let tops = (0..=u16::MAX).map(|top| u32::from(top) << 16);
        tops.flat_map(|top| [0, 1, 0x8000, 0xffff].map(|low| f32::from_bits(top | low)))
    }

    #[test]
    fn vectors_convert_as_the_element_type_does() {
        for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
            dispatch(isa, Both::<F8E4m3>(PhantomData));
            dispatch(isa, Both::<F8E5m2>(PhantomData));
        }
        assert_eq!(F8E4m3::narrow(1e9).to_f64(), 448.0);
    }
}
