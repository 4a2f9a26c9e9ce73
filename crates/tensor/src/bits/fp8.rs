//! Eight-bit floats (OCP OFP8): e4m3 without infinities, e5m2 with them.

use super::round::{F8E4M3, F8E5M2, short_code};

/// What a value beyond the largest finite number becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The largest finite number; infinities too.
    Saturate,
    /// NaN for e4m3, which has no infinity; infinity for e5m2.
    NanInf,
}

/// fp8 with 4 exponent and 3 fraction bits: largest 448, `S.1111.111` is NaN, no infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct F8E4m3(pub u8);

/// fp8 with 5 exponent and 2 fraction bits: largest 57344, infinities and NaNs as in IEEE 754.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct F8E5m2(pub u8);

fn sign_bit(value: f64) -> u8 {
    u8::from(value.is_sign_negative()) << 7
}

impl F8E4m3 {
    const LARGEST: u32 = 0x7e;
    const NAN: u32 = 0x7f;

    /// Rounds to nearest, ties to even.
    #[inline]
    pub fn from_f32(value: f32, overflow: Overflow) -> F8E4m3 {
        F8E4m3::from_f64(f64::from(value), overflow)
    }

    /// Rounds to nearest, ties to even, once.
    #[inline]
    pub fn from_f64(value: f64, overflow: Overflow) -> F8E4m3 {
        // 480 would follow 448 had its code not been taken for NaN: a tie at 464 goes to 448.
        let code = match short_code(value, F8E4M3) {
            _ if value.is_nan() => F8E4m3::NAN,
            code if code <= F8E4m3::LARGEST => code,
            _ => match overflow {
                Overflow::Saturate => F8E4m3::LARGEST,
                Overflow::NanInf => F8E4m3::NAN,
            },
        };
        F8E4m3(sign_bit(value) | code as u8)
    }

    /// The exact value.
    #[inline]
    pub const fn to_f32(self) -> f32 {
        E4M3_VALUES[self.0 as usize]
    }
}

impl F8E5m2 {
    const LARGEST: u32 = 0x7b;
    const INFINITY: u32 = 0x7c;
    const NAN: u32 = 0x7e;

    /// Rounds to nearest, ties to even.
    #[inline]
    pub fn from_f32(value: f32, overflow: Overflow) -> F8E5m2 {
        F8E5m2::from_f64(f64::from(value), overflow)
    }

    /// Rounds to nearest, ties to even, once.
    #[inline]
    pub fn from_f64(value: f64, overflow: Overflow) -> F8E5m2 {
        let code = match short_code(value, F8E5M2) {
            _ if value.is_nan() => F8E5m2::NAN,
            code if code <= F8E5m2::LARGEST => code,
            _ => match overflow {
                Overflow::Saturate => F8E5m2::LARGEST,
                Overflow::NanInf => F8E5m2::INFINITY,
            },
        };
        F8E5m2(sign_bit(value) | code as u8)
    }

    /// The exact value.
    #[inline]
    pub const fn to_f32(self) -> f32 {
        E5M2_VALUES[self.0 as usize]
    }
}

/// Value of a code with `fraction_bits` of fraction and the given exponent bias, in IEEE's way.
const fn ieee_value(code: u8, fraction_bits: u32, bias: u32) -> f32 {
    let magnitude = (code & 0x7f) as u32;
    let field = magnitude >> fraction_bits;
    let fraction = magnitude & ((1 << fraction_bits) - 1);
    let value = if field == 0 {
        let smallest = f32::from_bits((127 + 1 - bias - fraction_bits) << 23);
        fraction as f32 * smallest
    } else {
        f32::from_bits((field + 127 - bias) << 23 | fraction << (23 - fraction_bits))
    };
    if code & 0x80 == 0 { value } else { -value }
}

static E4M3_VALUES: [f32; 256] = {
    let mut values = [0.0; 256];
    let mut code = 0;
    while code < 256 {
        let nan = code & 0x7f == 0x7f;
        values[code] = if nan { f32::NAN } else { ieee_value(code as u8, 3, 7) };
        code += 1;
    }
    values
};

static E5M2_VALUES: [f32; 256] = {
    let mut values = [0.0; 256];
    let mut code = 0;
    while code < 256 {
        let sign = if code & 0x80 == 0 { 1.0 } else { -1.0 };
        values[code] = match code & 0x7f {
            0x7c => sign * f32::INFINITY,
            0x7d..=0x7f => f32::NAN,
            _ => ieee_value(code as u8, 2, 15),
        };
        code += 1;
    }
    values
};

#[cfg(test)]
mod tests {
    use super::*;
    use Overflow::{NanInf, Saturate};

    #[test]
    fn landmarks_have_their_published_values() {
        for (code, value) in [
            (0x00, 0.0),
            (0x01, 2f32.powi(-9)),
            (0x07, 7.0 * 2f32.powi(-9)),
            (0x08, 2f32.powi(-6)),
            (0x38, 1.0),
            (0x7e, 448.0),
            (0xfe, -448.0),
        ] {
            assert_eq!(F8E4m3(code).to_f32(), value, "e4m3 {code:#04x}");
        }
        for (code, value) in [
            (0x01, 2f32.powi(-16)),
            (0x04, 2f32.powi(-14)),
            (0x3c, 1.0),
            (0x7b, 57344.0),
            (0x7c, f32::INFINITY),
            (0xfc, f32::NEG_INFINITY),
        ] {
            assert_eq!(F8E5m2(code).to_f32(), value, "e5m2 {code:#04x}");
        }
    }

    #[test]
    fn every_code_survives_the_way_through_f32() {
        for code in 0..=255u8 {
            let (e4m3, e5m2) = (F8E4m3(code), F8E5m2(code));
            if e4m3.to_f32().is_nan() {
                assert_eq!(code & 0x7f, 0x7f);
                assert!(F8E4m3::from_f32(e4m3.to_f32(), NanInf).to_f32().is_nan());
            } else {
                assert_eq!(F8E4m3::from_f32(e4m3.to_f32(), Saturate), e4m3);
                assert_eq!(F8E4m3::from_f32(e4m3.to_f32(), NanInf), e4m3);
            }
            if e5m2.to_f32().is_nan() {
                assert!((0x7d..=0x7f).contains(&(code & 0x7f)));
                assert!(F8E5m2::from_f32(e5m2.to_f32(), NanInf).to_f32().is_nan());
            } else {
                assert_eq!(F8E5m2::from_f32(e5m2.to_f32(), NanInf), e5m2);
            }
        }
    }

    #[test]
    fn midpoints_tie_to_the_even_code_and_their_neighbours_do_not() {
        for code in 0..0x7e_u8 {
            let middle = f64::midpoint(
                f64::from(F8E4m3(code).to_f32()),
                f64::from(F8E4m3(code + 1).to_f32()),
            );
            let even = code + code % 2;
            assert_eq!(F8E4m3::from_f64(middle, NanInf), F8E4m3(even));
            assert_eq!(F8E4m3::from_f64(-middle, NanInf), F8E4m3(even | 0x80));
            // Sticky bits far below f32's precision still break the tie.
            assert_eq!(F8E4m3::from_f64(middle.next_up(), NanInf), F8E4m3(code + 1));
            assert_eq!(F8E4m3::from_f64(middle.next_down(), NanInf), F8E4m3(code));
        }
        for code in 0..0x7b_u8 {
            let middle = f64::midpoint(
                f64::from(F8E5m2(code).to_f32()),
                f64::from(F8E5m2(code + 1).to_f32()),
            );
            assert_eq!(F8E5m2::from_f64(middle, NanInf), F8E5m2(code + code % 2));
            assert_eq!(F8E5m2::from_f64(middle.next_up(), NanInf), F8E5m2(code + 1));
            assert_eq!(F8E5m2::from_f64(middle.next_down(), NanInf), F8E5m2(code));
        }
    }

    #[test]
    fn overflow_follows_its_policy_from_the_tie_on() {
        let largest = F8E4m3(0x7e);
        assert_eq!(F8E4m3::from_f32(464.0, NanInf), largest, "the tie with 480 goes to even");
        assert!(F8E4m3::from_f64(464f64.next_up(), NanInf).to_f32().is_nan());
        for value in [464f64.next_up(), 1e300, f64::INFINITY] {
            assert_eq!(F8E4m3::from_f64(value, Saturate), largest);
            assert_eq!(F8E4m3::from_f64(-value, Saturate), F8E4m3(0xfe));
        }
        assert_eq!(F8E5m2::from_f64(61440f64.next_down(), NanInf), F8E5m2(0x7b));
        assert_eq!(F8E5m2::from_f64(61440.0, NanInf), F8E5m2(0x7c), "the tie goes to infinity");
        assert_eq!(F8E5m2::from_f64(-1e300, NanInf), F8E5m2(0xfc));
        assert_eq!(F8E5m2::from_f64(f64::INFINITY, Saturate), F8E5m2(0x7b));
    }

    #[test]
    fn tiny_values_keep_their_sign() {
        assert_eq!(F8E4m3::from_f64(-0.0, NanInf), F8E4m3(0x80));
        assert_eq!(F8E4m3::from_f64(-1e-310, NanInf), F8E4m3(0x80));
        assert_eq!(F8E4m3::from_f64(2f64.powi(-10), NanInf), F8E4m3(0), "the tie with zero");
        assert_eq!(F8E4m3::from_f64(2f64.powi(-10).next_up(), NanInf), F8E4m3(1));
    }
}
