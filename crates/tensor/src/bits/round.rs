//! Rounding a double straight to the code of a narrower binary float.

/// A binary float narrower than f64: what decides its rounding.
#[derive(Clone, Copy)]
pub(super) struct Format {
    /// Significand bits with the hidden one.
    pub(super) precision: u32,
    /// Exponent of the smallest normal number.
    pub(super) min_exponent: i32,
}

impl Format {
    /// Bits of a double that are dropped.
    const fn shift(self) -> u32 {
        53 - self.precision
    }

    /// The bits of the least double that is rounded as a normal number.
    const fn least(self) -> u64 {
        ((1023 + self.min_exponent) as u64) << 52
    }

    /// Whether doubles of these bits are zeros, or normal numbers with a margin below overflow: the
    /// inputs of [`Format::rounded`] and [`Format::plain_code`]. IEEE's exponents are symmetric.
    #[inline]
    pub(super) const fn is_plain(self, bits: u64) -> bool {
        let magnitude = bits & (u64::MAX >> 1);
        let most = ((1023 - self.min_exponent) as u64) << 52;
        (magnitude >= self.least()) & (magnitude < most) | (magnitude == 0)
    }

    /// A plain double rounded to nearest, ties to even; no branch, so that loops are vectorised.
    #[inline]
    pub(super) const fn rounded(self, bits: u64) -> u64 {
        let last = (bits >> self.shift()) & 1;
        (bits + ((1 << (self.shift() - 1)) - 1) + last) & (u64::MAX << self.shift())
    }

    /// The code of a plain double without its sign.
    #[inline]
    pub(super) const fn plain_code(self, bits: u64) -> u32 {
        let rounded = self.rounded(bits & (u64::MAX >> 1));
        // One less than the exponent's offset, because the least normal number's field is 1.
        let offset = self.least() - (1 << 52);
        if rounded == 0 { 0 } else { ((rounded - offset) >> self.shift()) as u32 }
    }
}

pub(super) const F16: Format = Format { precision: 11, min_exponent: -14 };
pub(super) const BF16: Format = Format { precision: 8, min_exponent: -126 };
pub(super) const F8E4M3: Format = Format { precision: 4, min_exponent: -6 };
pub(super) const F8E5M2: Format = Format { precision: 3, min_exponent: -14 };

/// Rounds `|value|` to nearest, ties to even, as exponent and fraction fields in one integer.
///
/// The exponent field has no upper limit here: a code above that of the largest finite number
/// means overflow, which every format treats in its own way. One rounding from all 53 bits:
/// going through f32 first, as some conversion instructions force one to, rounds twice.
pub(super) fn magnitude_code(value: f64, format: Format) -> u32 {
    let bits = value.to_bits() & (u64::MAX >> 1);
    let biased = (bits >> 52) as i32;
    let fraction = bits & ((1 << 52) - 1);
    // f64's own subnormals lie below half of every narrower format's smallest number.
    if biased == 0 {
        return 0;
    }
    let exponent = biased - 1023;
    let significand = fraction | 1 << 52;
    let below_normal = (format.min_exponent - exponent).max(0) as u32;
    let shift = 53 - format.precision + below_normal;
    if shift > 54 {
        return 0;
    }
    let kept = significand >> shift;
    let dropped = significand & ((1 << shift) - 1);
    let half = 1 << (shift - 1);
    let up = dropped > half || (dropped == half && kept & 1 == 1);
    let rounded = kept as u32 + u32::from(up);
    // A normal number's hidden bit adds one to the exponent field, and so does a carry.
    let above_min = (exponent - format.min_exponent).max(0) as u32;
    (above_min << (format.precision - 1)) + rounded
}

/// As [`magnitude_code`], for formats of eight bits and without branches, because a proof of a
/// large case rounds hundreds of millions of values. A value that is not a number gets some code
/// beyond the largest.
#[inline]
pub(super) fn short_code(value: f64, format: Format) -> u32 {
    // Beyond the largest number of every such format, and no sum below overflows.
    const MOST: f64 = (1 << 20) as f64;
    let magnitude = value.abs().min(MOST);
    let least = f64::from_bits(format.least());
    let power = f64::from_bits(magnitude.max(least).to_bits() & f64::INFINITY.to_bits());
    // Its last place is that of the code, so the processor rounds the sum to the code's precision.
    let large = power * (1u64 << format.shift()) as f64;
    let rounded = (magnitude + large) - large;
    // Below the least normal number codes are as far apart as just above it.
    let bits = match rounded < least {
        true => (rounded + least).to_bits() - format.least(),
        false => rounded.to_bits() - (format.least() - (1 << 52)),
    };
    (bits >> format.shift()) as u32
}

/// Code of an IEEE-like format whose `infinity` code follows its largest finite one.
pub(super) fn ieee_code(value: f64, format: Format, infinity: u32) -> u32 {
    if value.is_nan() {
        // The quiet NaN.
        return infinity | 1 << (format.precision - 2);
    }
    magnitude_code(value, format).min(infinity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};
    use proptest::prelude::*;

    /// The slow truth: among all finite codes and the first one past them, the nearest to
    /// `magnitude`, found by exact comparison; the even code on a tie.
    fn nearest(magnitude: f64, infinity: u32, value_of: impl Fn(u32) -> f64) -> u32 {
        let (mut low, mut high) = (0, infinity);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if value_of(middle) <= magnitude { low = middle } else { high = middle }
        }
        // Neighbours differ by a power of two, so their midpoint is exact in f64.
        let midpoint = f64::midpoint(value_of(low), value_of(high));
        if magnitude > midpoint || (magnitude == midpoint && low % 2 == 1) { high } else { low }
    }

    /// Value of an f16 code, continued one step past the largest finite number.
    fn f16_value(code: u32) -> f64 {
        if code == 0x7c00 { 65536.0 } else { f16::from_bits(code as u16).to_f64() }
    }

    fn bf16_value(code: u32) -> f64 {
        if code == 0x7f80 { 2f64.powi(128) } else { bf16::from_bits(code as u16).to_f64() }
    }

    /// Values around every code and around every midpoint between neighbours.
    fn hard_values(infinity: u32, value_of: impl Fn(u32) -> f64) -> impl Iterator<Item = f64> {
        (0..infinity).flat_map(move |code| {
            let midpoint = f64::midpoint(value_of(code), value_of(code + 1));
            [value_of(code), midpoint, midpoint.next_down(), midpoint.next_up()]
        })
    }

    #[test]
    fn f16_rounds_once_at_every_code_and_midpoint() {
        for value in hard_values(0x7c00, f16_value) {
            let want = nearest(value, 0x7c00, f16_value);
            assert_eq!(ieee_code(value, F16, 0x7c00), want, "{value:e}");
        }
    }

    #[test]
    fn bf16_rounds_once_at_every_code_and_midpoint() {
        for value in hard_values(0x7f80, bf16_value) {
            let want = nearest(value, 0x7f80, bf16_value);
            assert_eq!(ieee_code(value, BF16, 0x7f80), want, "{value:e}");
        }
    }

    #[test]
    fn short_codes_are_those_of_the_slow_way_at_every_code_and_midpoint() {
        for format in [F8E4M3, F8E5M2] {
            let value_of = |code: u32| {
                let (field, fraction) =
                    (code >> (format.precision - 1), code & ((1 << (format.precision - 1)) - 1));
                let hidden = u32::from(field > 0) << (format.precision - 1);
                let exponent = field.max(1) as i32 - 1 + format.min_exponent;
                f64::from(fraction + hidden) * 2f64.powi(exponent - format.precision as i32 + 1)
            };
            for value in hard_values(0x80, value_of) {
                for value in [value, -value] {
                    let want = magnitude_code(value, format);
                    assert_eq!(short_code(value, format), want, "{value:e}");
                }
            }
            for beyond in [1e6, 1e300, f64::MAX, f64::INFINITY, f64::NAN] {
                assert!(short_code(beyond, format) > 0x7f, "{beyond}");
            }
        }
    }

    proptest! {
        #[test]
        fn short_codes_are_those_of_the_slow_way(bits in any::<u64>(), exponent in -30i32..19) {
            let fraction = bits & ((1 << 52) - 1);
            let in_range = f64::from_bits(((exponent + 1023) as u64) << 52 | fraction);
            for format in [F8E4M3, F8E5M2] {
                prop_assert_eq!(short_code(in_range, format), magnitude_code(in_range, format));
                let anywhere = f64::from_bits(bits);
                let slow = magnitude_code(anywhere, format);
                prop_assert!(short_code(anywhere, format) == slow || slow > 0x7f);
            }
        }

        #[test]
        fn any_double_goes_to_the_nearest_code(bits in any::<u64>(), exponent in -30i32..20) {
            let anywhere = f64::from_bits(bits).abs();
            let fraction = bits & ((1 << 52) - 1);
            let in_range = f64::from_bits(((exponent + 1023) as u64) << 52 | fraction);
            for value in [anywhere, in_range].into_iter().filter(|value| value.is_finite()) {
                prop_assert_eq!(
                    ieee_code(value, F16, 0x7c00), nearest(value, 0x7c00, f16_value));
                prop_assert_eq!(
                    ieee_code(value, BF16, 0x7f80), nearest(value, 0x7f80, bf16_value));
            }
        }
    }
}
