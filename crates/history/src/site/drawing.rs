//! Pictures of a series, as SVG within a page: classes only, so that a page needs no inline style.

use crate::Metric;
use proofmark_report::markup as escaped;
use proofmark_schema::quantity::{Bytes, Nanos, three_digits};
use proofmark_stats::change::Change;
use std::fmt::Write as _;

/// A point as it is drawn.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub(super) value: f64,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// The commit or the run, in short.
    pub(super) name: String,
    /// Which of the series' environments it has, from 0.
    pub(super) environment: usize,
    /// Whether the code differs from that of the point before.
    pub(super) is_new_code: bool,
}

/// A number with its unit.
pub(super) fn number(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Time => Nanos(value).to_string(),
        Metric::PeakBytes => Bytes(value as u64).to_string(),
        Metric::Error => format!("{} u·scale", three_digits(value)),
        Metric::Allocations => three_digits(value),
    }
}

/// A number at its axis. A time has enough digits to differ from the next number, which is `step`
/// away.
fn tick(metric: Metric, value: f64, step: f64) -> String {
    if metric != Metric::Time {
        return number(metric, value);
    }
    let (scaled, unit) = Nanos(value).scaled();
    let step = if value == 0.0 { step } else { step * scaled / value };
    let digits = (1.0 - step.abs().log10()).ceil().clamp(0.0, 6.0) as usize;
    format!("{scaled:.digits$} {unit}")
}

/// The range of the values, widened so that no point lies on the frame.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values {
        low = low.min(value);
        high = high.max(value);
    }
    if !(low.is_finite() && high.is_finite()) {
        return (0.0, 1.0);
    }
    let margin = ((high - low) * 0.08).max(high.abs() * 0.002).max(1e-12);
    (low - margin, high + margin)
}

/// A line of a table's row: the shape of the series, and where it changed.
pub(super) fn sparkline(values: &[f64], changes: &[usize]) -> String {
    let (low, high) = range(values.iter().copied());
    let last = values.len().saturating_sub(1).max(1) as f64;
    let x = |i: usize| 1.0 + 118.0 * i as f64 / last;
    let y = |value: f64| 22.0 - 20.0 * (value - low) / (high - low);
    let mut out = String::from(
        "<svg class=\"plot spark\" viewBox=\"0 0 120 24\" width=\"120\" height=\"24\" role=\"img\" \
         aria-label=\"shape of the series\">",
    );
    for &place in changes {
        let x = x(place);
        let _ = write!(out, "<path class=\"mark\" d=\"M{x:.1} 0V24\"/>");
    }
    let mut path = String::new();
    for (i, &value) in values.iter().enumerate() {
        let step = if i == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{step}{:.1} {:.1}", x(i), y(value));
    }
    let _ = write!(out, "<path class=\"line s0\" d=\"{path}\"/></svg>");
    out
}

/// The points `from..to` of a series with intervals, its environments and its changes. `focus` is
/// the point that was asked for, which has a line through it. `width` is that of the page in
/// pixels, so that text keeps its size on a phone.
pub(super) fn series(
    metric: Metric,
    points: &[Drawn],
    changes: &[Change],
    (from, to): (usize, usize),
    focus: Option<usize>,
    width: f64,
    class: &str,
) -> String {
    let height = if width < 500.0 { 260.0 } else { 320.0 };
    let (left, right, top, bottom) = (64.0, 8.0, 8.0, 56.0);
    let shown = &points[from..to];
    let bounds = |point: &Drawn| {
        [point.value, point.low.unwrap_or(point.value), point.high.unwrap_or(point.value)]
    };
    let (low, high) = range(shown.iter().flat_map(bounds));
    let last = (to - from).saturating_sub(1).max(1) as f64;
    let x = |i: f64| left + (width - left - right) * (i - from as f64 + 0.5) / (last + 1.0);
    let y = |value: f64| top + (height - top - bottom) * (1.0 - (value - low) / (high - low));
    let floor = height - bottom;
    let mut out = format!(
        "<svg class=\"plot {class}\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         aria-label=\"points {} to {} of {}\">",
        from + 1,
        to,
        points.len()
    );
    let mut last_label = String::new();
    for step in 0..=4 {
        let value = low + (high - low) * f64::from(step) / 4.0;
        let line = y(value);
        // Bytes may have too few digits to tell two lines apart; one of them is named.
        let text = escaped(&tick(metric, value, (high - low) / 4.0));
        let label = if text == last_label { "" } else { &text };
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{left} {line:.1}H{:.1}\"/><text class=\"end small\" x=\"{:.1}\" \
             y=\"{:.1}\">{}</text>",
            width - right,
            left - 6.0,
            line + 4.0,
            label
        );
        last_label = text;
    }
    for change in changes.iter().filter(|change| from < change.place && change.place < to) {
        let (first, end) = (change.places.0.max(from) as f64, change.places.1.min(to) as f64);
        let worse = if change.shift.estimate > 0.0 { "up" } else { "down" };
        let _ = write!(
            out,
            "<rect class=\"where {worse}\" x=\"{:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{:.1}\"/>\
             <path class=\"mark {worse}\" d=\"M{:.1} {top}V{floor:.1}\"/>",
            x(first - 0.75),
            (x(end) - x(first) + 0.5 * (x(1.0) - x(0.0))).max(2.0),
            floor - top,
            x(change.place as f64 - 0.5),
        );
        let _ = write!(
            out,
            "<text class=\"small halo\" x=\"{:.1}\" y=\"{:.1}\">{:+.2} %</text>",
            (x(change.place as f64) + 3.0).min(width - 52.0),
            top + 12.0,
            100.0 * change.shift.estimate.exp_m1()
        );
    }
    if let Some(place) = focus {
        let _ =
            write!(out, "<path class=\"focus\" d=\"M{:.1} {top}V{floor:.1}\"/>", x(place as f64));
    }
    for (i, point) in shown.iter().enumerate() {
        let (place, middle) = (x((from + i) as f64), y(point.value));
        if let (Some(low), Some(high)) = (point.low, point.high) {
            let _ = write!(
                out,
                "<path class=\"span\" d=\"M{place:.1} {:.1}V{:.1}\"/>",
                y(low),
                y(high)
            );
        }
        let _ = write!(
            out,
            "<circle class=\"s0\" cx=\"{place:.1}\" cy=\"{middle:.1}\" r=\"{}\"><title>{}: {}</title></circle>",
            if shown.len() > 150 { 1.8 } else { 3.0 },
            escaped(&point.name),
            escaped(&number(metric, point.value))
        );
        let cell = x(1.0) - x(0.0);
        let _ = write!(
            out,
            "<rect class=\"s{}\" x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"7\"><title>{}</title></rect>",
            point.environment % 8,
            place - cell / 2.0,
            floor + 6.0,
            cell,
            escaped(&point.name)
        );
        if point.is_new_code {
            let _ = write!(
                out,
                "<path class=\"code\" d=\"M{:.1} {:.1}v8\"/>",
                place - cell / 2.0,
                floor + 16.0
            );
        }
    }
    let names = if width < 500.0 { 2 } else { 5 };
    for step in 0..=names {
        let i = (to - from - 1) * step / names;
        let anchor = if step == 0 {
            ""
        } else if step == names {
            " end"
        } else {
            " mid"
        };
        let _ = write!(
            out,
            "<text class=\"small soft{anchor}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x((from + i) as f64),
            floor + 40.0,
            escaped(&shown[i].name)
        );
    }
    out.push_str("</svg>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_as_many_digits_as_tell_its_lines_apart() {
        assert_eq!(tick(Metric::Time, 10_179.0, 141.0), "10.18 µs");
        assert_eq!(tick(Metric::Time, 1_000_500.0, 250.0), "1.00050 ms");
        assert_eq!(tick(Metric::Time, 900.0, 200.0), "900 ns");
        assert_eq!(tick(Metric::PeakBytes, 3_145_728.0, 100.0), "3.00 MiB");
    }

    #[test]
    fn every_point_is_drawn_within_the_frame() {
        let point = |i: usize| Drawn {
            value: 100.0 + i as f64,
            low: Some(99.0 + i as f64),
            high: None,
            name: format!("<{i}>"),
            environment: i % 3,
            is_new_code: i == 4,
        };
        let points: Vec<Drawn> = (0..20).map(point).collect();
        let svg = series(Metric::Time, &points, &[], (5, 20), Some(7), 380.0, "wide");
        assert_eq!(svg.matches("<circle").count(), 15);
        assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("><5>"));
        let one = series(Metric::Time, &points[..1], &[], (0, 1), None, 960.0, "wide");
        assert!(!one.contains("NaN"), "{one}");
        assert!(!sparkline(&[1.0], &[]).contains("NaN"));
    }
}
