//! Maps: a cell for each pair of sizes, coloured by a value that is written in it too.

use super::frame::{TOP, WIDTH, hover};
use super::scale::tick_text;
use crate::plain::{markup, quantity};
use crate::plot::distinct;
use crate::{Plot, Point, Series};
use std::fmt::Write as _;

/// Left and right of the cells.
const LEFT: f64 = 72.0;
const RIGHT: f64 = WIDTH - 16.0;
/// Height of a row of cells.
const ROW: f64 = 34.0;
/// Shades.
const SHADES: usize = 10;
/// Shades that are so dark that text on them is light.
const DARK: usize = 6;
/// Narrower cells have no room for text.
const TEXT: f64 = 44.0;

/// Draws the map; gives the place below it.
pub(super) fn draw(plot: &Plot, out: &mut String) -> f64 {
    let cells: Vec<(&Series, &Point, f64)> = plot
        .series
        .iter()
        .flat_map(|series| series.points.iter().map(move |point| (series, point)))
        .filter(|(_, point)| point.is_drawable(&plot.x, &plot.y))
        .filter_map(|(series, point)| Some((series, point, point.value?)))
        .filter(|(_, _, value)| value.is_finite())
        .collect();
    let columns = distinct(cells.iter().map(|(_, point, _)| point.x));
    // Larger sizes above, as on an axis.
    let rows: Vec<f64> =
        distinct(cells.iter().map(|(_, point, _)| point.y)).into_iter().rev().collect();
    let values = distinct(cells.iter().map(|(_, _, value)| *value));
    let (Some(&low), Some(&high)) = (values.first(), values.last()) else { return TOP };
    let width = (RIGHT - LEFT) / columns.len() as f64;
    let unit = plot.value.as_ref().map_or("", |axis| axis.unit.as_str());
    // Percentages start at 0 and end at 100 or more, so that small differences do not look large.
    let (low, high) = if unit == "%" { (0.0, high.max(100.0)) } else { (low, high) };
    for (series, point, value) in &cells {
        let column = columns.iter().position(|x| *x == point.x).unwrap_or(0);
        let row = rows.iter().position(|y| *y == point.y).unwrap_or(0);
        let (x, y) = (LEFT + column as f64 * width, TOP + row as f64 * ROW);
        let shade = shade(*value, low, high);
        let _ = write!(
            out,
            "<rect class=\"h{shade}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" \
             height=\"{:.1}\"><title>{}</title></rect>",
            width - 1.0,
            ROW - 1.0,
            hover(plot, series, point)
        );
        if width >= TEXT {
            let class = if shade < DARK { "on" } else { "onlight" };
            let _ = write!(
                out,
                "<text class=\"mid {class}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x + width / 2.0,
                y + ROW / 2.0 + 4.0,
                markup(&quantity(*value, unit))
            );
        }
    }
    let bottom = TOP + rows.len() as f64 * ROW;
    names(plot, &columns, &rows, width, bottom, out);
    key(plot, low, high, bottom + 48.0, out);
    bottom + 72.0
}

fn shade(value: f64, low: f64, high: f64) -> usize {
    let share = if high > low { (value - low) / (high - low) } else { 0.5 };
    ((share * SHADES as f64) as usize).min(SHADES - 1)
}

fn names(plot: &Plot, columns: &[f64], rows: &[f64], width: f64, bottom: f64, out: &mut String) {
    for (index, &value) in columns.iter().enumerate() {
        let x = LEFT + (index as f64 + 0.5) * width;
        let text = markup(&tick_text(value, &plot.x));
        let y = bottom + 15.0;
        let _ = write!(out, "<text class=\"mid soft\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
    }
    for (index, &value) in rows.iter().enumerate() {
        let y = TOP + (index as f64 + 0.5) * ROW + 4.0;
        let text = markup(&tick_text(value, &plot.y));
        let x = LEFT - 6.0;
        let _ = write!(out, "<text class=\"end soft\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
    }
    let _ = write!(
        out,
        "<text class=\"mid\" x=\"{:.0}\" y=\"{:.1}\">{}</text>\
         <text class=\"mid\" transform=\"translate(14 {:.1}) rotate(-90)\">{}</text>",
        (LEFT + RIGHT) / 2.0,
        bottom + 32.0,
        markup(&plot.x.title()),
        (TOP + bottom) / 2.0,
        markup(&plot.y.title())
    );
}

/// From the least value to the greatest, shade by shade.
fn key(plot: &Plot, low: f64, high: f64, y: f64, out: &mut String) {
    let axis = plot.value.clone().unwrap_or_default();
    let text = format!(
        "{}, from {} to {}",
        axis.name,
        quantity(low, &axis.unit),
        quantity(high, &axis.unit)
    );
    for shade in 0..SHADES {
        let x = LEFT + shade as f64 * 14.0;
        let _ = write!(
            out,
            "<rect class=\"h{shade}\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"14\" height=\"10\"/>"
        );
    }
    let x = LEFT + SHADES as f64 * 14.0 + 8.0;
    let _ = write!(
        out,
        "<text class=\"soft\" x=\"{x:.0}\" y=\"{:.0}\">{}</text>",
        y + 9.0,
        markup(&text)
    );
}
