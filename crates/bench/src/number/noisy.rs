//! A number whose every operation is off by a random rounding.
//!
//! Three rules, as for references in Python: arithmetic is off by 1·|r|, a library function by
//! 2·|r|, and a sum of n terms t by Σ|t| + √n/4·|Σt|, in whatever order it is computed. A rounded
//! number moves again by 1·|r| when it is used, because a fused kernel may compute it anew.

use super::{Noise, Real};
use std::cmp::Ordering;
use std::iter::{Product, Sum};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// Whole numbers below this are added and multiplied exactly.
const EXACT: f64 = (1 << 20) as f64;

/// A number with rounding noise.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Noisy {
    /// The value; of a sum without the noise of the sum itself.
    value: f64,
    /// The normal number of the sum's noise.
    normal: f64,
    /// The magnitudes of the sum's terms.
    mass: f64,
    /// Terms of a sum; 0 if it is none.
    terms: u64,
    /// It was rounded on the way.
    is_rounded: bool,
}

impl Noisy {
    fn exact(value: f64) -> Noisy {
        Noisy { value, ..Noisy::default() }
    }

    /// The value with all its noise: the same whenever it is asked for.
    fn frozen(self) -> f64 {
        match self.terms {
            0 | 1 => self.value,
            _ if !self.is_rounded => self.value,
            terms => {
                let size = self.mass + (terms as f64).sqrt() / 4.0 * self.value.abs();
                self.value + Noise::offset(self.normal, size)
            }
        }
    }

    /// The value for one use.
    fn used(self) -> f64 {
        let frozen = self.frozen();
        if self.is_rounded { Noise::moved(frozen, frozen.abs()) } else { frozen }
    }

    /// A result that is off by so many units of itself.
    fn rounded(result: f64, units: f64) -> Noisy {
        let value = Noise::moved(result, Noise::size(result, units));
        Noisy { is_rounded: true, ..Noisy::exact(value) }
    }

    /// A choice among numbers, or a whole number: nothing is rounded, what was off stays off.
    fn chosen(value: f64, is_rounded: bool) -> Noisy {
        Noisy { is_rounded, ..Noisy::exact(value) }
    }

    fn is_whole(self) -> bool {
        !self.is_rounded && self.value == self.value.trunc() && self.value.abs() < EXACT
    }

    fn is_power_of_two(self) -> bool {
        let is_one_bit = self.value.to_bits() & ((1 << 52) - 1) == 0;
        !self.is_rounded && self.value.is_normal() && is_one_bit
    }

    fn is_zero(self) -> bool {
        !self.is_rounded && self.value == 0.0
    }

    /// A sum with one more term.
    fn with_term(self, term: Noisy) -> Noisy {
        let used = term.used();
        let start = match self.terms {
            0 if self.is_zero() => Noisy { normal: Noise::normal(), ..Noisy::default() },
            0 => {
                let value = self.used();
                let normal = Noise::normal();
                Noisy { value, normal, mass: value.abs(), terms: 1, is_rounded: self.is_rounded }
            }
            _ => self,
        };
        let terms = start.terms + 1;
        Noise::note_sum(terms);
        let is_exact = !start.is_rounded && (terms == 1 || Noisy::exact(start.value).is_whole());
        let is_rounded = term.is_rounded || !(is_exact && (terms == 1 || term.is_whole()));
        let (value, mass) = (start.value + used, start.mass + used.abs());
        Noisy { value, normal: start.normal, mass, terms, is_rounded }
    }

    /// Whether an addition to it makes a sum.
    fn is_sum(self) -> bool {
        self.terms > 0 || self.is_zero()
    }
}

impl Add for Noisy {
    type Output = Noisy;

    fn add(self, other: Noisy) -> Noisy {
        if self.is_sum() {
            return self.with_term(other);
        }
        if other.is_zero() {
            return self;
        }
        let result = self.used() + other.used();
        match self.is_whole() && other.is_whole() {
            true => Noisy::exact(result),
            false => Noisy::rounded(result, 1.0),
        }
    }
}

impl AddAssign for Noisy {
    fn add_assign(&mut self, other: Noisy) {
        *self = self.with_term(other);
    }
}

impl Neg for Noisy {
    type Output = Noisy;

    fn neg(self) -> Noisy {
        Noisy { value: -self.value, normal: -self.normal, ..self }
    }
}

impl Sub for Noisy {
    type Output = Noisy;

    fn sub(self, other: Noisy) -> Noisy {
        self + -other
    }
}

impl SubAssign for Noisy {
    fn sub_assign(&mut self, other: Noisy) {
        *self += -other;
    }
}

impl Mul for Noisy {
    type Output = Noisy;

    fn mul(self, other: Noisy) -> Noisy {
        let result = self.used() * other.used();
        if self.is_power_of_two() || other.is_power_of_two() {
            return Noisy::chosen(result, self.is_rounded || other.is_rounded);
        }
        match self.is_whole() && other.is_whole() {
            true => Noisy::exact(result),
            false => Noisy::rounded(result, 1.0),
        }
    }
}

impl MulAssign for Noisy {
    fn mul_assign(&mut self, other: Noisy) {
        *self = *self * other;
    }
}

impl Div for Noisy {
    type Output = Noisy;

    fn div(self, other: Noisy) -> Noisy {
        let result = self.used() / other.used();
        match other.is_power_of_two() {
            true => Noisy::chosen(result, self.is_rounded),
            false => Noisy::rounded(result, 1.0),
        }
    }
}

impl DivAssign for Noisy {
    fn div_assign(&mut self, other: Noisy) {
        *self = *self / other;
    }
}

impl PartialEq for Noisy {
    fn eq(&self, other: &Noisy) -> bool {
        self.frozen() == other.frozen()
    }
}

impl PartialOrd for Noisy {
    fn partial_cmp(&self, other: &Noisy) -> Option<Ordering> {
        self.frozen().partial_cmp(&other.frozen())
    }
}

impl Sum for Noisy {
    fn sum<I: Iterator<Item = Noisy>>(all: I) -> Noisy {
        all.fold(Noisy::ZERO, Noisy::with_term)
    }
}

impl<'a> Sum<&'a Noisy> for Noisy {
    fn sum<I: Iterator<Item = &'a Noisy>>(all: I) -> Noisy {
        all.copied().sum()
    }
}

impl Product for Noisy {
    fn product<I: Iterator<Item = Noisy>>(all: I) -> Noisy {
        all.fold(Noisy::ONE, |product, factor| product * factor)
    }
}

impl<'a> Product<&'a Noisy> for Noisy {
    fn product<I: Iterator<Item = &'a Noisy>>(all: I) -> Noisy {
        all.copied().product()
    }
}

impl Real for Noisy {
    const ZERO: Noisy = constant(0.0);
    const ONE: Noisy = constant(1.0);
    const INFINITY: Noisy = constant(f64::INFINITY);
    const NEG_INFINITY: Noisy = constant(f64::NEG_INFINITY);

    fn of(value: f64) -> Noisy {
        Noisy::exact(value)
    }

    fn get(self) -> f64 {
        self.frozen()
    }

    fn apply(self, function: fn(f64) -> f64) -> Noisy {
        Noisy::rounded(function(self.used()), 2.0)
    }

    fn sqrt(self) -> Noisy {
        Noisy::rounded(self.used().sqrt(), 1.0)
    }

    fn abs(self) -> Noisy {
        Noisy::chosen(self.frozen().abs(), self.is_rounded)
    }

    fn max(self, other: Noisy) -> Noisy {
        let (left, right) = (self.frozen(), other.frozen());
        if left.is_nan() || right.is_nan() {
            return Noisy::exact(f64::NAN);
        }
        if left >= right { self } else { other }
    }

    fn min(self, other: Noisy) -> Noisy {
        -((-self).max(-other))
    }

    fn round(self) -> Noisy {
        Noisy::exact(self.frozen().round())
    }

    fn round_ties_even(self) -> Noisy {
        Noisy::exact(self.frozen().round_ties_even())
    }

    fn floor(self) -> Noisy {
        Noisy::exact(self.frozen().floor())
    }

    fn ceil(self) -> Noisy {
        Noisy::exact(self.frozen().ceil())
    }

    fn trunc(self) -> Noisy {
        Noisy::exact(self.frozen().trunc())
    }

    fn mul_add(self, factor: Noisy, term: Noisy) -> Noisy {
        term + self * factor
    }
}

const fn constant(value: f64) -> Noisy {
    Noisy { value, normal: 0.0, mass: 0.0, terms: 0, is_rounded: false }
}
