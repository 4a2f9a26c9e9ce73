//! Bars to the right, in which the parts of a whole are laid end to end.

use super::frame::{COLOURS, TOP, WIDTH, hover};
use super::scale::{Scale, tick_text};
use crate::Plot;
use crate::plain::{markup, quantity};
use crate::plot::stacked;
use std::fmt::Write as _;

/// Height of one bar with the space below it.
const ROW: f64 = 30.0;
/// Characters of a name that are shown.
const NAME: usize = 40;
/// Parts at least this wide have their share written into them.
const WIDE: f64 = 42.0;

/// Draws the bars; gives the place below them.
pub(super) fn draw(plot: &Plot, out: &mut String) -> f64 {
    let stacks = stacked(plot);
    let total = |at: usize| stacks[at].1.iter().map(|(_, point)| point.y).sum::<f64>();
    let longest = stacks.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let left = 18.0 + longest.min(NAME) as f64 * 6.8;
    let bottom = TOP + stacks.len() as f64 * ROW;
    let ends = (0..stacks.len()).map(total).chain([0.0]);
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
    for (row, (label, parts)) in stacks.iter().enumerate() {
        let (top, whole) = (TOP + row as f64 * ROW + 4.0, total(row));
        let name: String = label.chars().take(NAME).collect();
        let _ = write!(
            out,
            "<text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            left - 6.0,
            top + 15.0,
            markup(&name)
        );
        let mut done = 0.0;
        for (index, point) in parts {
            let from = scale.place(done);
            done += point.y;
            let width = scale.place(done) - from;
            let _ = write!(
                out,
                "<rect class=\"bar s{} of{index}\" x=\"{from:.1}\" y=\"{top:.1}\" \
                 width=\"{width:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
                index % COLOURS,
                ROW - 8.0,
                hover(plot, &plot.series[*index], point)
            );
            if width >= WIDE {
                let _ = write!(
                    out,
                    "<text class=\"mid within\" x=\"{:.1}\" y=\"{:.1}\">{:.0} %</text>",
                    from + width / 2.0,
                    top + 15.0,
                    100.0 * point.y / whole
                );
            }
        }
        let _ = write!(
            out,
            "<text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            scale.place(done) + 5.0,
            top + 15.0,
            markup(&quantity(done, &plot.y.unit))
        );
    }
    let _ = write!(
        out,
        "<text class=\"mid\" x=\"{:.0}\" y=\"{:.1}\">{}</text>",
        (left + WIDTH - 76.0) / 2.0,
        bottom + 34.0,
        markup(&plot.y.name)
    );
    bottom + 46.0
}
