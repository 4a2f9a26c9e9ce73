//! Named fills: the value of every element is a function of its position, in any language.

mod bulk;
mod name;

pub use name::ParseFillError;

use crate::Tensor;
use crate::bits::{encode, round_all, round_to};
use crate::random::Stream;
use proofmark_terms::DType;
use std::f64::consts::LOG2_10;

/// How the elements of a tensor are made.
///
/// Element `index` (row-major, padding not counted) lies in row `r = index / cols`, column
/// `c = index % cols`, and is made of the random words `w(k) = mix(seed, stream, 4 * index + k)`
/// for `k` from 0 to 3 (see [`crate::mix`]). All arithmetic is that of IEEE doubles, in the order
/// written; no function of a mathematical library takes part. With
///
/// ```text
/// u(k)   = (w(k) >> 11) * 2^-53                            uniform in [0, 1)
/// s(k)   = -1 if the top bit of w(k) is set, else +1
/// normal = (S - 393210) / 65536                            nearly normal: mean 0, variance 1
///          S = sum of the twelve 16-bit fields of w(0), w(1), w(2)
/// ```
///
/// each fill below gives a value `v`. Then, in this order: unsigned types take `|v|`; a finite
/// `v` beyond the type's largest finite number becomes that number with the sign of `v`; and `v`
/// is rounded to the type as [`crate::Element::from_f64`] does.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// 0.
    Zero,
    /// `normal`.
    Normal,
    /// `low + (high - low) * u(0)`.
    Uniform {
        /// Least value.
        low: f64,
        /// Upper limit.
        high: f64,
    },
    /// `w(1) % (2 * magnitude + 1) - magnitude` if `u(0) < density`, else 0.
    Ints {
        /// Greatest absolute value.
        magnitude: u32,
        /// Probability that an element is drawn and not just 0.
        density: f64,
    },
    /// `s(1) * 2^(w(0) % (2 * reach + 1) - reach)`.
    PowersOfTwo {
        /// Greatest absolute value of the exponent.
        reach: u32,
    },
    /// `1 + u(0) / 8`, negated in odd columns.
    Alternating,
    /// `mean + normal`.
    Offset {
        /// What is added.
        mean: f64,
    },
    /// `s(2) * (1 + u(1)) * 2^(w(0) % (2 * d + 1) - d)`, `d = floor(decades * 3.321928094887362)`
    /// limited to 0..=1000.
    Graded {
        /// Decimal orders of magnitude on either side of 1.
        decades: f64,
    },
    /// `normal * 100` if `u(3) < 0.001`, else `normal`.
    HeavyTail,
    /// `normal` if `u(3) < density`, else 0.
    Sparse {
        /// Share of elements that are not 0.
        density: f64,
    },
    /// `value`.
    Constant {
        /// What every element is.
        value: f64,
    },
    /// `s(1) * (1 + w(0) % n) * smallest`: the type's subnormals, where `smallest` is its least
    /// positive number and `n = 2^(p - 1) - 1` for `p` significand bits; 1 for both of integers.
    Subnormal,
    /// `s(1) * (largest * fraction) * (1 - u(0) / 8)` for the type's largest finite number.
    NearOverflow {
        /// Share of the largest number.
        fraction: f64,
    },
    /// Pairs that nearly cancel: in even columns `normal`; in odd columns, with the words of the
    /// element before, `-(normal * (1 + (w(3) % 9 - 4) * (2 * unit)))` for the type's unit
    /// roundoff (2^-p for floats of `p` significand bits, 0 for integers).
    Cancel,
    /// `normal / 1024`, but 64 in one column of each row:
    /// `[0, cols - 1, 15, 16, 31, 32, 63, 64, w'(3)][(r + seed) % 9] % cols`, where `w'` are the
    /// words of the row's first element and `r + seed` is modulo 2^64.
    Needle,
    /// `index / cols`, not truncated.
    Ramp,
    /// `value` if `r % every == 0`, else `normal * spread`.
    Striped {
        /// One row in this many; 0 counts as 1.
        every: u32,
        /// What such a row holds.
        value: f64,
        /// Standard deviation of the other rows.
        spread: f64,
    },
    /// `w(0) >> (64 - bits)`: whole numbers below 2^bits.
    RandomBits {
        /// 0 to 64.
        bits: u32,
    },
}

/// The columns a needle visits: both ends, and both sides of the edges of common tiles.
const NEEDLE_CHOICES: u64 = 9;

/// What an element's value depends on besides the fill.
#[derive(Clone, Copy)]
struct Place {
    dtype: DType,
    words: Stream,
    seed: u64,
    index: u64,
    row: u64,
    col: u64,
    cols: u64,
}

impl Place {
    fn word(&self, k: u64) -> u64 {
        self.words.word(self.index.wrapping_mul(4).wrapping_add(k))
    }

    fn uniform(&self, k: u64) -> f64 {
        uniform(self.word(k))
    }

    fn sign(&self, k: u64) -> f64 {
        if self.word(k) >> 63 == 1 { -1.0 } else { 1.0 }
    }

    fn normal(&self) -> f64 {
        normal(|k| self.word(k))
    }

    fn is_needle(&self) -> bool {
        let first = Place { index: self.index - self.col, ..*self };
        let column = match self.row.wrapping_add(self.seed) % NEEDLE_CHOICES {
            0 => 0,
            1 => self.cols - 1,
            2 => 15,
            3 => 16,
            4 => 31,
            5 => 32,
            6 => 63,
            7 => 64,
            _ => first.word(3),
        };
        self.col == column % self.cols
    }

    fn cancel(&self) -> f64 {
        if self.col.is_multiple_of(2) {
            return self.normal();
        }
        let partner = Place { index: self.index - 1, ..*self };
        let units = (partner.word(3) % 9) as f64 - 4.0;
        -(partner.normal() * (1.0 + units * (2.0 * self.dtype.unit())))
    }

    fn subnormal(&self) -> f64 {
        let count = match self.dtype.significand_bits() {
            0 => 1,
            bits => (1u64 << (bits - 1)) - 1,
        };
        self.sign(1) * (1 + self.word(0) % count) as f64 * self.dtype.smallest()
    }
}

/// A word as a number from 0 to 1.
#[inline(always)]
fn uniform(word: u64) -> f64 {
    (word >> 11) as f64 / (1u64 << 53) as f64
}

/// The nearly normal number that three words make.
#[inline(always)]
fn normal(word: impl Fn(u64) -> u64) -> f64 {
    let fields = |word: u64| -> i64 {
        let field = |at: u32| (word >> (16 * at) & 0xffff) as i64;
        field(0) + field(1) + field(2) + field(3)
    };
    let sum = fields(word(0)) + fields(word(1)) + fields(word(2));
    // Half a step for each of the twelve fields makes the mean exactly 0.
    (sum - 393_210) as f64 / 65536.0
}

/// 2^exponent, for exponents of normal doubles.
fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

impl Fill {
    /// The value of one element, rounded to the type.
    pub fn value(&self, dtype: DType, seed: u64, stream: u64, index: u64, cols: usize) -> f64 {
        let cols = cols.max(1) as u64;
        let words = Stream::new(seed, stream);
        let (row, col) = (index / cols, index % cols);
        let place = Place { dtype, words, seed, index, row, col, cols };
        round_to(dtype, bound(dtype)(self.formula(place)))
    }

    /// The values of this many rows, rounded to the type, in logical order.
    pub fn values(
        &self,
        dtype: DType,
        seed: u64,
        stream: u64,
        (rows, cols): (usize, usize),
    ) -> Vec<f64> {
        let mut values = vec![0.0; rows * cols];
        for (row, values) in values.chunks_exact_mut(cols.max(1)).enumerate() {
            self.row(dtype, Stream::new(seed, stream), seed, row as u64, values);
            round_all(dtype, values);
        }
        values
    }

    /// Writes every element of a tensor; padding between rows stays as it is.
    ///
    /// # Panics
    /// If the tensor is read-only.
    pub fn write(&self, tensor: &mut Tensor, seed: u64, stream: u64) {
        let (dtype, words) = (tensor.dtype, Stream::new(seed, stream));
        let mut values = vec![0.0; tensor.layout.cols()];
        tensor.for_each_row(|row, bytes| {
            self.row(dtype, words, seed, row as u64, &mut values);
            encode(dtype, &values, bytes);
        });
    }

    /// The values of one row before they are rounded.
    fn row(&self, dtype: DType, words: Stream, seed: u64, row: u64, values: &mut [f64]) {
        let cols = values.len() as u64;
        match *self {
            Fill::Normal => bulk::normal(words, row * cols, values),
            Fill::Offset { mean } => {
                bulk::normal(words, row * cols, values);
                values.iter_mut().for_each(|value| *value += mean);
            }
            Fill::Uniform { low, high } => bulk::uniform(words, row * cols, (low, high), values),
            _ => {
                for (col, value) in (0..cols).zip(values.iter_mut()) {
                    let index = row * cols + col;
                    *value = self.formula(Place { dtype, words, seed, index, row, col, cols });
                }
            }
        }
        let bound = bound(dtype);
        values.iter_mut().for_each(|value| *value = bound(*value));
    }

    fn formula(&self, place: Place) -> f64 {
        match *self {
            Fill::Zero => 0.0,
            Fill::Normal => place.normal(),
            Fill::Uniform { low, high } => low + (high - low) * place.uniform(0),
            Fill::Ints { magnitude, density } if place.uniform(0) < density => {
                let count = 2 * u64::from(magnitude) + 1;
                (place.word(1) % count) as f64 - f64::from(magnitude)
            }
            Fill::PowersOfTwo { reach } => {
                let exponent = place.word(0) % (2 * u64::from(reach) + 1);
                place.sign(1) * power_of_two(exponent as i64 - i64::from(reach))
            }
            Fill::Alternating => {
                let sign = if place.col.is_multiple_of(2) { 1.0 } else { -1.0 };
                sign * (1.0 + place.uniform(0) / 8.0)
            }
            Fill::Offset { mean } => mean + place.normal(),
            Fill::Graded { decades } => {
                let reach = (decades * LOG2_10).floor().clamp(0.0, 1000.0) as i64;
                let exponent = (place.word(0) % (2 * reach as u64 + 1)) as i64 - reach;
                place.sign(2) * (1.0 + place.uniform(1)) * power_of_two(exponent)
            }
            Fill::HeavyTail if place.uniform(3) < 0.001 => place.normal() * 100.0,
            Fill::HeavyTail => place.normal(),
            Fill::Sparse { density } if place.uniform(3) < density => place.normal(),
            Fill::Ints { .. } | Fill::Sparse { .. } => 0.0,
            Fill::Constant { value } => value,
            Fill::Subnormal => place.subnormal(),
            Fill::NearOverflow { fraction } => {
                let limit = place.dtype.largest() * fraction;
                place.sign(1) * limit * (1.0 - place.uniform(0) / 8.0)
            }
            Fill::Cancel => place.cancel(),
            Fill::Needle if place.is_needle() => 64.0,
            Fill::Needle => place.normal() / 1024.0,
            Fill::Ramp => place.index as f64 / place.cols as f64,
            Fill::Striped { every, value, spread } => {
                match place.row.is_multiple_of(u64::from(every.max(1))) {
                    true => value,
                    false => place.normal() * spread,
                }
            }
            Fill::RandomBits { bits } => {
                place.word(0).checked_shr(64 - bits.min(64)).unwrap_or(0) as f64
            }
        }
    }
}

/// Brings a value into the range of a type, before it is rounded.
fn bound(dtype: DType) -> impl Fn(f64) -> f64 {
    let is_unsigned = matches!(dtype, DType::U8 | DType::U32);
    let largest = dtype.largest();
    move |value| {
        let value = if is_unsigned { value.abs() } else { value };
        if value.is_finite() { value.clamp(-largest, largest) } else { value }
    }
}

#[cfg(test)]
mod tests;
