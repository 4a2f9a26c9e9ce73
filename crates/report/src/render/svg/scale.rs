//! From values to places on the paper, and the ticks between.

use crate::PlotAxis;
use crate::plain::quantity;

/// A straight or logarithmic scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    is_log: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// A scale that shows all values between two places; straight ones begin at zero.
    pub(super) fn new(
        axis: &PlotAxis,
        values: impl Iterator<Item = f64>,
        from: f64,
        to: f64,
    ) -> Scale {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite() && (!axis.log || *value > 0.0)) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        if axis.log {
            let room = (0.05 * (high.ln() - low.ln())).exp().clamp(1.1, 4.0);
            (low, high) = (low / room, high * room);
        } else {
            low = low.min(0.0);
            high = if high > low { high + 0.05 * (high - low) } else { low + 1.0 };
        }
        Scale { is_log: axis.log, low, high, from, to }
    }

    /// The place of a value.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = if self.is_log {
            (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share.clamp(-0.5, 1.5) * (self.to - self.from)
    }

    /// The values at the scale's ends.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Round values, some four to nine.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if !self.is_log {
            let step = round_step((self.high - self.low) / 6.0);
            let first = (self.low / step).ceil() as i64;
            let last = (self.high / step).floor() as i64;
            return (first..=last).map(|i| i as f64 * step).collect();
        }
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let decades = self.high.log10() - self.low.log10();
        let within: &[f64] = match decades {
            d if d < 1.5 => &[1.0, 2.0, 3.0, 5.0, 7.0],
            d if d < 3.5 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let every = (decades / 9.0).ceil().max(1.0) as usize;
        (first..=last)
            .step_by(every)
            .flat_map(|power| within.iter().map(move |digit| digit * 10_f64.powi(power)))
            .filter(|value| (self.low..=self.high).contains(value))
            .collect()
    }
}

/// A step of 1, 2 or 5 times a power of ten.
fn round_step(raw: f64) -> f64 {
    let power = 10_f64.powf(raw.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| raw <= digit * power);
    digit.unwrap_or(10.0) * power
}

/// The text at a tick: times bring their own unit, others have it in the axis's name.
pub(super) fn tick_text(value: f64, axis: &PlotAxis) -> String {
    match axis.unit.as_str() {
        "ns" => quantity(value, "ns"),
        _ if value != 0.0 && (value.abs() >= 1e6 || value.abs() < 1e-3) => format!("{value:e}"),
        _ => quantity((value * 1e9).round() / 1e9, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_middles_fall_where_they_should() {
        let axis = PlotAxis::linear("y", "%");
        let scale = Scale::new(&axis, [10.0, 100.0].into_iter(), 200.0, 0.0);
        assert_eq!(scale.place(0.0), 200.0);
        assert!((scale.place(52.5) - 100.0).abs() < 1e-9);
        assert_eq!(scale.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        let log = Scale::new(&PlotAxis::log("x", ""), [1.0, 1e4].into_iter(), 0.0, 100.0);
        assert!((log.place(100.0) - 50.0).abs() < 1e-9);
        assert_eq!(log.ticks().len(), 5);
    }

    #[test]
    fn values_that_cannot_be_drawn_break_nothing() {
        let axis = PlotAxis::log("x", "");
        for values in [vec![], vec![f64::NAN, -1.0, 0.0], vec![5.0], vec![1e-300, 1e300]] {
            let scale = Scale::new(&axis, values.into_iter(), 0.0, 100.0);
            assert!(scale.place(5.0).is_finite());
            assert!((1..=20).contains(&scale.ticks().len()), "{:?}", scale.ticks());
        }
        let flat = Scale::new(&PlotAxis::default(), [0.0].into_iter(), 0.0, 100.0);
        assert!(flat.place(0.5).is_finite() && !flat.ticks().is_empty());
    }
}
