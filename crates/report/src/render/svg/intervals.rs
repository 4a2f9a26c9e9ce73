//! Intervals against 1, a row a point: on a wide page with its columns, on a narrow one below its
//! label.

use super::frame::{TOP, hover};
use super::scale::{Scale, tick_text};
use crate::plain::markup;
use crate::{Plot, Point, Series};
use std::fmt::Write as _;

/// Where things stand, for a page of one width.
pub(super) struct Layout {
    /// Width of the picture.
    pub(super) width: f64,
    /// Height of a row.
    row: f64,
    /// Left and right end of the scale.
    scale: [f64; 2],
    /// Whether a label stands above its interval instead of left of it.
    is_stacked: bool,
}

/// For screens, print and files.
pub(super) const WIDE: Layout =
    Layout { width: 1240.0, row: 18.0, scale: [390.0, 900.0], is_stacked: false };
/// For phones.
pub(super) const NARROW: Layout =
    Layout { width: 380.0, row: 38.0, scale: [10.0, 370.0], is_stacked: true };

/// Space of the names of both sides and of the ticks.
const HEAD: f64 = 40.0;
/// Characters of a label that are shown; pointing at the point tells all.
const LABEL: usize = 54;
const NARROW_LABEL: usize = 48;
/// Ratios that have a line.
const TICKS: [f64; 11] = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 5.0, 10.0];
/// Ticks nearer to each other than this would run together.
const APART: f64 = 34.0;

/// A ratio beyond this stands at the end of the scale with an arrow, so that one case does not
/// press all others together.
const FARTHEST: f64 = 16.0;

/// Draws the rows; gives the place below them.
pub(super) fn draw(plot: &Plot, layout: &Layout, out: &mut String) -> f64 {
    let mut rows: Vec<(usize, &Series, &Point)> = Vec::new();
    for (index, series) in plot.series.iter().enumerate() {
        let points = series.points.iter().filter(|point| point.is_drawable(&plot.x, &plot.y));
        rows.extend(points.map(|point| (index, series, point)));
    }
    rows.sort_by(|a, b| a.2.x.total_cmp(&b.2.x));
    let [left, right] = layout.scale;
    let near = |ratio: f64| ratio.clamp(1.0 / FARTHEST, FARTHEST);
    let ratios = rows.iter().map(|row| near(row.2.y)).chain([1.0]);
    let scale = Scale::new(&plot.y, ratios, left, right);
    let top = TOP + HEAD;
    let bottom = top + rows.len() as f64 * layout.row;
    ground(plot, &scale, layout, bottom, out);
    for (row, (index, series, point)) in rows.iter().enumerate() {
        let y = top + row as f64 * layout.row;
        if row % 2 == 1 {
            let _ = write!(
                out,
                "<rect class=\"band\" x=\"0\" y=\"{y:.0}\" width=\"{:.0}\" height=\"{:.0}\"/>",
                layout.width, layout.row
            );
        }
        label(point, layout, y, out);
        interval(plot, *index, series, point, &scale, layout, y, out);
    }
    bottom + 8.0
}

/// The sides of 1, and lines at round ratios.
fn ground(plot: &Plot, scale: &Scale, layout: &Layout, bottom: f64, out: &mut String) {
    let right = layout.scale[1];
    let (one, top) = (scale.place(1.0), TOP + HEAD);
    let _ = write!(
        out,
        "<rect class=\"worse\" x=\"{one:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"/>\
         <text class=\"end strong s2\" x=\"{:.1}\" y=\"{:.0}\">\u{2190} faster</text>\
         <text class=\"strong s1\" x=\"{:.1}\" y=\"{:.0}\">slower \u{2192}</text>",
        right - one,
        bottom - TOP,
        one - 6.0,
        TOP + 14.0,
        one + 6.0,
        TOP + 14.0
    );
    let ((first, end), mut last) = (scale.ends(), f64::NEG_INFINITY);
    for value in TICKS {
        let at = scale.place(value);
        let is_one = value == 1.0;
        if !(first..=end).contains(&value) {
            continue;
        }
        if !is_one && (at - last < APART || (at - one).abs() < APART) {
            continue;
        }
        last = at;
        let class = if is_one { "one" } else { "grid" };
        let _ = write!(
            out,
            "<path class=\"{class}\" d=\"M{at:.1} {:.0}V{bottom:.0}\"/>\
             <text class=\"mid soft\" x=\"{at:.1}\" y=\"{:.0}\">{}×</text>",
            top - 4.0,
            top - 8.0,
            markup(&tick_text(value, &plot.y))
        );
    }
    if !layout.is_stacked {
        let _ = write!(
            out,
            "<text class=\"soft\" x=\"8\" y=\"{:.0}\">case</text>\
             <text class=\"end soft\" x=\"{:.0}\" y=\"{:.0}\">ratio</text>\
             <text class=\"soft\" x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            top - 8.0,
            right + 58.0,
            top - 8.0,
            right + 72.0,
            top - 8.0,
            markup(&plot.x.name)
        );
    }
}

fn label(point: &Point, layout: &Layout, y: f64, out: &mut String) {
    let room = if layout.is_stacked { NARROW_LABEL } else { LABEL };
    let mut text: String = point.label.chars().take(room).collect();
    if point.label.chars().count() > room {
        text.push('\u{2026}');
    }
    let (op, shape) = text.split_once(' ').unwrap_or((&text, ""));
    let base = y + 13.0;
    if layout.is_stacked {
        let _ = write!(
            out,
            "<text class=\"small\" x=\"4\" y=\"{base:.0}\"><tspan class=\"strong\">{}</tspan> \
             <tspan class=\"soft\">{}</tspan></text>",
            markup(op),
            markup(shape)
        );
        return;
    }
    let _ = write!(
        out,
        "<text class=\"strong\" x=\"8\" y=\"{base:.0}\">{}</text>\
         <text class=\"end soft small\" x=\"{:.0}\" y=\"{base:.0}\">{}</text>",
        markup(op),
        layout.scale[0] - 12.0,
        markup(shape)
    );
}

#[expect(clippy::too_many_arguments, reason = "one row, with all that it is drawn from")]
fn interval(
    plot: &Plot,
    index: usize,
    series: &Series,
    point: &Point,
    scale: &Scale,
    layout: &Layout,
    y: f64,
    out: &mut String,
) {
    let [left, right] = layout.scale;
    let middle = y + if layout.is_stacked { 26.0 } else { 9.0 };
    let place = |value: f64| scale.place(value).clamp(left, right);
    let class = format!("lead{index}");
    if let (Some(low), Some(high)) = (point.low, point.high) {
        let _ = write!(
            out,
            "<path class=\"span {class}\" d=\"M{:.1} {middle:.1}H{:.1}\"/>",
            place(low),
            place(high)
        );
    }
    let (first, last) = scale.ends();
    let shape = match point.y {
        ratio if ratio < first => "l3".to_owned(),
        ratio if ratio > last => "l4".to_owned(),
        _ => format!("l{}", index % 3),
    };
    let _ = write!(
        out,
        "<use href=\"#{shape}\" x=\"{:.1}\" y=\"{middle:.1}\" class=\"{class}\"><title>{}</title></use>",
        place(point.y),
        hover(plot, series, point)
    );
    let digits = if point.y < 0.0995 { 3 } else { 2 };
    let ratio = format!("{:.digits$}×", point.y);
    let (strong, base) = (format!("strong {class}text"), y + 13.0);
    if layout.is_stacked {
        let _ = write!(
            out,
            "<text class=\"end {strong}\" x=\"{right:.0}\" y=\"{base:.0}\">{ratio}</text>"
        );
        return;
    }
    let _ = write!(
        out,
        "<text class=\"end {strong}\" x=\"{:.0}\" y=\"{base:.0}\">{ratio}</text>",
        right + 58.0
    );
    for (column, text) in point.beside.iter().enumerate() {
        let class = if column == 0 { "" } else { " soft" };
        let x = right + 72.0 + 76.0 * column as f64;
        let text = markup(text);
        let _ =
            write!(out, "<text class=\"small{class}\" x=\"{x:.0}\" y=\"{base:.0}\">{text}</text>");
    }
}
