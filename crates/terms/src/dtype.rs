//! Element types: names, sizes and rounding units.

use std::fmt;
use std::str::FromStr;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum DType {
    /// IEEE binary64.
    F64,
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// bfloat16: the upper half of binary32.
    Bf16,
    /// fp8 with 4 exponent bits, finite only (largest 448, one NaN).
    F8e4m3,
    /// fp8 with 5 exponent bits and infinities (largest finite 57344).
    F8e5m2,
    /// Signed byte.
    I8,
    /// Unsigned byte.
    U8,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer: indices and random-number state.
    U32,
    /// Signed 64-bit integer.
    I64,
}

impl DType {
    /// Every element type.
    pub const ALL: [DType; 11] = [
        DType::F64,
        DType::F32,
        DType::F16,
        DType::Bf16,
        DType::F8e4m3,
        DType::F8e5m2,
        DType::I8,
        DType::U8,
        DType::I32,
        DType::U32,
        DType::I64,
    ];

    /// The name used in ids.
    pub fn name(self) -> &'static str {
        match self {
            DType::F64 => "f64",
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::Bf16 => "bf16",
            DType::F8e4m3 => "f8e4m3",
            DType::F8e5m2 => "f8e5m2",
            DType::I8 => "i8",
            DType::U8 => "u8",
            DType::I32 => "i32",
            DType::U32 => "u32",
            DType::I64 => "i64",
        }
    }

    /// Bytes of one element.
    #[inline]
    pub fn size(self) -> usize {
        match self {
            DType::F64 | DType::I64 => 8,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::F16 | DType::Bf16 => 2,
            DType::F8e4m3 | DType::F8e5m2 | DType::I8 | DType::U8 => 1,
        }
    }

    /// Whether elements are floating point.
    #[inline]
    pub fn is_float(self) -> bool {
        self.significand_bits() > 0
    }

    /// Significand bits with the hidden one; 0 for integers.
    #[inline]
    pub fn significand_bits(self) -> u32 {
        match self {
            DType::F64 => 53,
            DType::F32 => 24,
            DType::F16 => 11,
            DType::Bf16 => 8,
            DType::F8e4m3 => 4,
            DType::F8e5m2 => 3,
            _ => 0,
        }
    }

    /// Exponent of the smallest normal number; 0 for integers.
    #[inline]
    pub fn min_exponent(self) -> i32 {
        match self {
            DType::F64 => -1022,
            DType::F32 | DType::Bf16 => -126,
            DType::F16 => -14,
            DType::F8e4m3 => -6,
            DType::F8e5m2 => -14,
            _ => 0,
        }
    }

    /// Largest finite value.
    #[inline]
    pub fn largest(self) -> f64 {
        match self {
            DType::F64 => f64::MAX,
            DType::F32 => f64::from(f32::MAX),
            DType::F16 => 65504.0,
            DType::Bf16 => f64::from(f32::from_bits(0x7f7f_0000)),
            DType::F8e4m3 => 448.0,
            DType::F8e5m2 => 57344.0,
            DType::I8 => 127.0,
            DType::U8 => 255.0,
            DType::I32 => f64::from(i32::MAX),
            DType::U32 => f64::from(u32::MAX),
            DType::I64 => 9_223_372_036_854_774_784.0,
        }
    }

    /// Unit roundoff `u`: half the spacing of the numbers just above 1; 0 for integers.
    pub fn unit(self) -> f64 {
        match self.significand_bits() {
            0 => 0.0,
            bits => power_of_two(-(bits as i32)),
        }
    }

    /// Smallest positive number, subnormals counted; 1 for integers.
    #[inline]
    pub fn smallest(self) -> f64 {
        match self.significand_bits() as i32 {
            0 => 1.0,
            // 2^min_exponent * 2^-(bits-1), in two steps so that f64's own does not underflow.
            bits => power_of_two(self.min_exponent()) * power_of_two(1 - bits),
        }
    }

    /// Spacing of this type's numbers around `value` (one unit in the last place).
    #[inline]
    pub fn ulp(self, value: f64) -> f64 {
        if !self.is_float() {
            return 1.0;
        }
        let magnitude = value.abs().min(self.largest());
        if magnitude < power_of_two(self.min_exponent()) {
            return self.smallest();
        }
        // The power of two is read from the bits: log2 rounds up near powers of two.
        let below = f64::from_bits(magnitude.to_bits() & f64::INFINITY.to_bits());
        below * power_of_two(1 - self.significand_bits() as i32)
    }
}

/// 2 to the power of an exponent in the range of normal f64. The gate calls it several times for
/// each element that it judges; `powi` took a sixth of a proof's time.
#[inline]
fn power_of_two(exponent: i32) -> f64 {
    debug_assert!((-1022..=1023).contains(&exponent), "2^{exponent} is not normal");
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no element type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDType(pub String);

impl fmt::Display for UnknownDType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = DType::ALL.map(DType::name).join(", ");
        write!(f, "`{}` is not an element type (known: {known})", self.0)
    }
}

impl std::error::Error for UnknownDType {}

impl FromStr for DType {
    type Err = UnknownDType;

    fn from_str(text: &str) -> Result<Self, UnknownDType> {
        DType::ALL
            .into_iter()
            .find(|dtype| dtype.name() == text)
            .ok_or_else(|| UnknownDType(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_those_of_the_library() {
        assert!((-1022..=1023).all(|exponent| power_of_two(exponent) == 2f64.powi(exponent)));
    }

    #[test]
    fn names_parse_back() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
        }
    }

    #[test]
    fn ulp_of_f32_matches_neighbouring_floats() {
        for value in [1.0f32, 1.5, 0.75, 3.0e-39, 1.0e30, 0.0, f32::MIN_POSITIVE] {
            let spacing = f64::from(f32::from_bits(value.to_bits() + 1)) - f64::from(value);
            assert_eq!(DType::F32.ulp(f64::from(value)), spacing, "around {value}");
        }
    }

    #[test]
    fn smallest_is_the_least_subnormal() {
        assert_eq!(DType::F32.smallest(), f64::from(f32::from_bits(1)));
        assert_eq!(DType::F64.smallest(), f64::from_bits(1));
        assert_eq!(DType::F8e4m3.smallest(), 2f64.powi(-9));
    }
}
