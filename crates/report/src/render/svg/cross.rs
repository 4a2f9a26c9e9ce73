//! Plots over two axes: lines, points, and points under limits.

use super::frame::{COLOURS, TOP, WIDTH, hover, shape};
use super::scale::{Scale, tick_text};
use crate::plain::markup;
use crate::plot::distinct;
use crate::{Plot, PlotKind, Point, Series};
use std::fmt::Write as _;

/// Margins around the drawing.
const LEFT: f64 = 72.0;
const RIGHT: f64 = WIDTH - 16.0;
/// Where the drawing ends and the names of ticks begin.
const BOTTOM: f64 = 330.0;
/// Most sizes that are ticks themselves.
const MOST_SIZES: usize = 9;

/// Draws axes and series; gives the place below them.
pub(super) fn draw(plot: &Plot, out: &mut String) -> f64 {
    let x = Scale::new(&plot.x, plot.points().map(|point| point.x), LEFT, RIGHT);
    let ends = plot.points().flat_map(|point| {
        [Some(point.y), point.low, point.high].into_iter().flatten().collect::<Vec<_>>()
    });
    let y = Scale::new(&plot.y, ends, BOTTOM, TOP);
    axes(plot, &x, &y, out);
    for (index, series) in plot.series.iter().enumerate() {
        let points: Vec<&Point> =
            series.points.iter().filter(|point| point.is_drawable(&plot.x, &plot.y)).collect();
        if series.is_limit {
            limit(series, &points, &x, &y, out);
            continue;
        }
        if plot.kind == PlotKind::Lines {
            let class = format!("line s{} of{index}", index % COLOURS);
            path(&class, &points, &x, &y, out);
        }
        marks(plot, index, series, &points, &x, &y, out);
    }
    BOTTOM + 52.0
}

fn axes(plot: &Plot, x: &Scale, y: &Scale, out: &mut String) {
    let sizes = distinct(plot.points().map(|point| point.x));
    let is_sizes = plot.kind == PlotKind::Lines && sizes.len() <= MOST_SIZES;
    for value in if is_sizes { sizes } else { x.ticks() } {
        let (at, text) = (x.place(value), markup(&tick_text(value, &plot.x)));
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{at:.1} {TOP}V{BOTTOM}\"/>\
             <text class=\"mid soft\" x=\"{at:.1}\" y=\"{:.0}\">{text}</text>",
            BOTTOM + 16.0
        );
    }
    for value in y.ticks() {
        let (at, text) = (y.place(value), markup(&tick_text(value, &plot.y)));
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/>\
             <text class=\"end soft\" x=\"{:.0}\" y=\"{:.1}\">{text}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    // Times write their unit at each tick.
    let title = |axis: &crate::PlotAxis| match axis.unit.as_str() {
        "ns" => markup(&axis.name),
        _ => markup(&axis.title()),
    };
    let middle = (TOP + BOTTOM) / 2.0;
    let _ = write!(
        out,
        "<text class=\"mid\" x=\"{:.0}\" y=\"{:.0}\">{}</text>\
         <text class=\"mid\" transform=\"translate(14 {middle:.0}) rotate(-90)\">{}</text>",
        (LEFT + RIGHT) / 2.0,
        BOTTOM + 34.0,
        title(&plot.x),
        title(&plot.y)
    );
}

fn path(class: &str, points: &[&Point], x: &Scale, y: &Scale, out: &mut String) {
    let mut line = String::new();
    for (index, point) in points.iter().enumerate() {
        let mark = if index == 0 { 'M' } else { 'L' };
        let _ = write!(line, "{mark}{:.1} {:.1}", x.place(point.x), y.place(point.y));
    }
    let _ = write!(out, "<path class=\"{class}\" d=\"{line}\"/>");
}

/// A limit with its name where it is lowest, if it rises, or at its end.
fn limit(series: &Series, points: &[&Point], x: &Scale, y: &Scale, out: &mut String) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    path("limit", points, x, y, out);
    let rises = y.place(last.y) < y.place(first.y) - 1.0;
    let (at, class) = if rises { (first, "soft halo") } else { (last, "soft halo end") };
    let (right, up) = (x.place(at.x) + if rises { 6.0 } else { -4.0 }, y.place(at.y) - 5.0);
    let _ = write!(
        out,
        "<text class=\"{class}\" x=\"{right:.1}\" y=\"{up:.1}\">{}</text>",
        markup(&series.name)
    );
}

fn marks(
    plot: &Plot,
    index: usize,
    series: &Series,
    points: &[&Point],
    x: &Scale,
    y: &Scale,
    out: &mut String,
) {
    let colour = index % COLOURS;
    let mut whiskers = String::new();
    for point in points {
        if let (Some(low), Some(high)) = (point.low, point.high) {
            let (low, high) = (y.place(low), y.place(high));
            // Shorter ones would hide behind the mark.
            if low - high > 7.0 {
                let _ = write!(whiskers, "M{:.1} {low:.1}V{high:.1}", x.place(point.x));
            }
        }
    }
    if !whiskers.is_empty() {
        let _ = write!(out, "<path class=\"line s{colour} of{index}\" d=\"{whiskers}\"/>");
    }
    for point in points {
        let _ = write!(
            out,
            "<use href=\"#m{}\" x=\"{:.1}\" y=\"{:.1}\" class=\"s{colour} of{index}\">\
             <title>{}</title></use>",
            shape(index),
            x.place(point.x),
            y.place(point.y),
            hover(plot, series, point)
        );
    }
}
