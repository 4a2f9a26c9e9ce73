//! What all kinds of plots share: sizes, colours, shapes, and the text of a point.

use crate::plain::{markup, quantity};
use crate::{Plot, PlotKind, Point, Series};
use std::fmt::Write as _;

/// Width of every plot.
pub(super) const WIDTH: f64 = 720.0;
/// Where the drawing begins below the title.
pub(super) const TOP: f64 = 34.0;
/// Colours and shapes.
pub(super) const COLOURS: usize = 8;
const MARKS: usize = 4;

pub(super) fn shape(index: usize) -> usize {
    (index + index / COLOURS) % MARKS
}

/// What a point says when it is pointed at.
pub(super) fn hover(plot: &Plot, series: &Series, point: &Point) -> String {
    if plot.kind == PlotKind::Intervals {
        let mut text = format!("{}: {}×", point.label, quantity(point.y, ""));
        if let (Some(low), Some(high)) = (point.low, point.high) {
            let _ = write!(text, " [{} to {}]", quantity(low, ""), quantity(high, ""));
        }
        let _ = write!(text, ", {}; {}", series.name, point.beside.join(" against "));
        return markup(&text);
    }
    let mut text = series.name.clone();
    if !point.label.is_empty() {
        let _ = write!(text, "{}{}", if text.is_empty() { "" } else { ", " }, point.label);
    }
    if !matches!(plot.kind, PlotKind::Bars | PlotKind::Stacks) {
        let _ = write!(text, ": {} {}", plot.x.name, quantity(point.x, &plot.x.unit));
    }
    let _ = write!(text, ", {} {}", plot.y.name, quantity(point.y, &plot.y.unit));
    if let (Some(low), Some(high)) = (point.low, point.high) {
        let (low, high) = (quantity(low, &plot.y.unit), quantity(high, &plot.y.unit));
        let _ = write!(text, " [{low} to {high}]");
    }
    if let (Some(value), Some(axis)) = (point.value, &plot.value) {
        let _ = write!(text, ", {} {}", axis.name, quantity(value, &axis.unit));
    }
    markup(&text)
}
