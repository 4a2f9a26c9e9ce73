//! Numbers that a reference is generic over: f64 gives the truth, noisy numbers give its scale.

mod noise;
mod noisy;

pub(crate) use noise::{AMPLITUDE, Noise};
pub(crate) use noisy::Noisy;

use std::fmt::Debug;
use std::iter::{Product, Sum};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A real number of a reference.
///
/// The reference runs in f64 for the truth, in f32 for what no kernel can be asked for, and 24
/// times with rounding noise for the error scale. Write `T::of(0.5)` for constants, and let sums
/// grow by `+=`, `.sum()` or [`Real::mul_add`]: then the noise is that of a sum in any order.
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialEq
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
    + Product
    + for<'a> Sum<&'a Self>
    + for<'a> Product<&'a Self>
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Greater than every number.
    const INFINITY: Self;
    /// Less than every number.
    const NEG_INFINITY: Self;

    /// A constant.
    fn of(value: f64) -> Self;
    /// Its value, for a choice that no element depends on.
    fn get(self) -> f64;
    /// A library function that is not listed here, such as an error function.
    fn apply(self, function: fn(f64) -> f64) -> Self;
    /// The square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// Its magnitude.
    fn abs(self) -> Self;
    /// The greater of two.
    fn max(self, other: Self) -> Self;
    /// The smaller of two.
    fn min(self, other: Self) -> Self;
    /// The nearest whole number; halves go away from 0.
    fn round(self) -> Self;
    /// The nearest whole number; halves go to the even one.
    fn round_ties_even(self) -> Self;
    /// The greatest whole number that is not greater.
    fn floor(self) -> Self;
    /// The least whole number that is not less.
    fn ceil(self) -> Self;
    /// The whole part.
    fn trunc(self) -> Self;
    /// `self * factor + term`; a sum grows by it.
    fn mul_add(self, factor: Self, term: Self) -> Self;

    /// Whether it is no number.
    fn is_nan(self) -> bool {
        self.get().is_nan()
    }
    /// Whether it is a number and not infinite.
    fn is_finite(self) -> bool {
        self.get().is_finite()
    }
    /// Its reciprocal.
    fn recip(self) -> Self {
        Self::ONE / self
    }
    /// e to its power.
    fn exp(self) -> Self {
        self.apply(f64::exp)
    }
    /// 2 to its power.
    fn exp2(self) -> Self {
        self.apply(f64::exp2)
    }
    /// `exp(x) - 1`.
    fn exp_m1(self) -> Self {
        self.apply(f64::exp_m1)
    }
    /// The natural logarithm.
    fn ln(self) -> Self {
        self.apply(f64::ln)
    }
    /// The logarithm to the base 2.
    fn log2(self) -> Self {
        self.apply(f64::log2)
    }
    /// `ln(1 + x)`.
    fn ln_1p(self) -> Self {
        self.apply(f64::ln_1p)
    }
    /// Sine.
    fn sin(self) -> Self {
        self.apply(f64::sin)
    }
    /// Cosine.
    fn cos(self) -> Self {
        self.apply(f64::cos)
    }
    /// Hyperbolic tangent.
    fn tanh(self) -> Self {
        self.apply(f64::tanh)
    }
    /// Its power by a whole number.
    fn powi(self, exponent: i32) -> Self {
        let mut power = Self::ONE;
        for _ in 0..exponent.unsigned_abs() {
            power *= self;
        }
        if exponent < 0 { power.recip() } else { power }
    }
    /// Its power by a number that is exact.
    fn powf(self, exponent: f64) -> Self {
        if exponent == 0.5 {
            return self.sqrt();
        }
        // Three rules of rounding instead of one: the logarithm is off, and so is the product.
        (self.ln() * Self::of(exponent)).exp()
    }
}

macro_rules! real {
    ($float:ident) => {
        impl Real for $float {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const INFINITY: Self = $float::INFINITY;
            const NEG_INFINITY: Self = $float::NEG_INFINITY;

            fn of(value: f64) -> Self {
                value as $float
            }
            fn get(self) -> f64 {
                f64::from(self)
            }
            fn apply(self, function: fn(f64) -> f64) -> Self {
                function(f64::from(self)) as $float
            }
            fn sqrt(self) -> Self {
                $float::sqrt(self)
            }
            fn abs(self) -> Self {
                $float::abs(self)
            }
            fn max(self, other: Self) -> Self {
                if self.is_nan() || other.is_nan() { $float::NAN } else { $float::max(self, other) }
            }
            fn min(self, other: Self) -> Self {
                if self.is_nan() || other.is_nan() { $float::NAN } else { $float::min(self, other) }
            }
            fn round(self) -> Self {
                $float::round(self)
            }
            fn round_ties_even(self) -> Self {
                $float::round_ties_even(self)
            }
            fn floor(self) -> Self {
                $float::floor(self)
            }
            fn ceil(self) -> Self {
                $float::ceil(self)
            }
            fn trunc(self) -> Self {
                $float::trunc(self)
            }
            fn mul_add(self, factor: Self, term: Self) -> Self {
                self * factor + term
            }
            fn powf(self, exponent: f64) -> Self {
                f64::from(self).powf(exponent) as $float
            }
        }
    };
}

real!(f32);
real!(f64);
