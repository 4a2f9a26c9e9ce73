//! Quantities with their units in the type, printed with the digits they earned.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub f64);

/// A count of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// How long ago something was, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Age(pub u64);

/// A ratio of two times; above 1 the first took longer.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ratio(pub f64);

/// An estimate between two bounds, at a stated confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Best estimate.
    pub estimate: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Confidence, as 0.95.
    pub confidence: f64,
}

impl Interval {
    /// The interval of the ratio turned round: of a speed-up, where this is one of times.
    #[must_use]
    pub fn inverse(&self) -> Interval {
        let Interval { estimate, low, high, confidence } = *self;
        Interval { estimate: 1.0 / estimate, low: 1.0 / high, high: 1.0 / low, confidence }
    }

    /// Half the width over the estimate; infinite around zero.
    pub fn relative_half_width(&self) -> f64 {
        if self.estimate == 0.0 {
            return f64::INFINITY;
        }
        (self.high - self.low) / 2.0 / self.estimate.abs()
    }
}

impl Nanos {
    /// The number in the unit that keeps it short, and that unit.
    pub fn scaled(self) -> (f64, &'static str) {
        scaled(self.0, &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")])
    }
}

impl fmt::Display for Nanos {
    /// Three significant digits and the unit that keeps them short.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = self.scaled();
        write!(f, "{} {unit}", three_digits(value))
    }
}

impl fmt::Display for Age {
    /// The largest unit that it is one of, rounded down.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..60 => write!(f, "{} s", self.0),
            60..3600 => write!(f, "{} min", self.0 / 60),
            3600..172_800 => write!(f, "{} h", self.0 / 3600),
            _ => write!(f, "{} days", self.0 / 86_400),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = [
            (1.0, "B"),
            (1024.0, "KiB"),
            (1024.0 * 1024.0, "MiB"),
            (1024f64.powi(3), "GiB"),
            (1024f64.powi(4), "TiB"),
        ];
        let (value, unit) = scaled(self.0 as f64, &steps);
        if unit == "B" {
            write!(f, "{} B", self.0)
        } else {
            write!(f, "{} {unit}", three_digits(value))
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×", three_digits(self.0))
    }
}

fn scaled(value: f64, steps: &[(f64, &'static str)]) -> (f64, &'static str) {
    let mut chosen = steps[0];
    for &step in steps {
        if value.abs() >= step.0 {
            chosen = step;
        }
    }
    (value / chosen.0, chosen.1)
}

/// Three significant digits without an exponent where the number allows it.
pub fn three_digits(value: f64) -> String {
    let magnitude = value.abs();
    if !value.is_finite() || magnitude == 0.0 {
        return format!("{value}");
    }
    if magnitude >= 99.95 {
        format!("{value:.0}")
    } else if magnitude >= 9.995 {
        format!("{value:.1}")
    } else if magnitude >= 0.9995 {
        format!("{value:.2}")
    } else if magnitude >= 0.001 {
        format!("{value:.3}")
    } else {
        format!("{value:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_print_three_digits_and_a_unit() {
        assert_eq!(Nanos(12.34).to_string(), "12.3 ns");
        assert_eq!(Nanos(1_234_567.0).to_string(), "1.23 ms");
        assert_eq!(Nanos(999_600.0).to_string(), "1000 µs");
        assert_eq!(Bytes(512).to_string(), "512 B");
        assert_eq!(Bytes(3 << 20).to_string(), "3.00 MiB");
    }
}
