//! Bars to the right, one a point.

use super::frame::{COLOURS, TOP, WIDTH, hover};
use super::scale::{Scale, tick_text};
use crate::Plot;
use crate::plain::{markup, quantity};
use std::fmt::Write as _;

/// Height of one bar with the space below it.
const ROW: f64 = 22.0;
/// Characters of a name that are shown; pointing at the bar tells all.
const NAME: usize = 40;

/// Draws the bars; gives the place below them.
pub(super) fn draw(plot: &Plot, out: &mut String) -> f64 {
    let rows = || {
        plot.series.iter().enumerate().flat_map(move |(index, series)| {
            let points = series.points.iter().filter(|point| point.y.is_finite());
            points.map(move |point| (index, series, point))
        })
    };
    let longest = rows().map(|(_, _, point)| point.label.chars().count()).max().unwrap_or(0);
    let left = 18.0 + longest.min(NAME) as f64 * 6.8;
    let bottom = TOP + rows().count() as f64 * ROW;
    let ends = rows().flat_map(|(_, _, point)| [Some(point.y), point.high]).flatten();
    let scale = Scale::new(&plot.y, ends, left, WIDTH - 76.0);
    for value in scale.ticks() {
        let at = scale.place(value);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{at:.1} {TOP}V{bottom:.1}\"/>\
             <text class=\"mid soft\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
            bottom + 16.0,
            markup(&tick_text(value, &plot.y))
        );
    }
    for (row, (index, series, point)) in rows().enumerate() {
        let top = TOP + row as f64 * ROW + 3.0;
        let (from, to) = (scale.place(scale.ends().0), scale.place(point.y));
        let name: String = point.label.chars().take(NAME).collect();
        let _ = write!(
            out,
            "<text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
             <rect class=\"bar s{} of{index}\" x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" \
             height=\"{:.1}\"><title>{}</title></rect>\
             <text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            left - 6.0,
            top + 12.0,
            markup(&name),
            index % COLOURS,
            (to - from).max(0.5),
            ROW - 6.0,
            hover(plot, series, point),
            to.max(from) + 5.0,
            top + 12.0,
            markup(&quantity(point.y, &plot.y.unit))
        );
    }
    let _ = write!(
        out,
        "<text class=\"mid\" x=\"{:.0}\" y=\"{:.1}\">{}</text>",
        (left + WIDTH - 76.0) / 2.0,
        bottom + 34.0,
        markup(&plot.y.title())
    );
    bottom + 46.0
}
