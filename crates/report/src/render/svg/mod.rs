//! SVG: the plots of a document in one file that needs nothing else.

mod bars;
mod cross;
mod frame;
mod heat;
mod intervals;
mod scale;
mod stacks;

use super::{Renderer, Style};
use crate::plain::markup;
use crate::{Document, Plot, PlotKind, Series};
use frame::{COLOURS, WIDTH, shape};
use std::fmt::Write as _;

pub(super) const RENDERER: Renderer =
    Renderer { name: "svg", summary: "the plots as one picture", render };

/// Colours for light and dark, as the page has them too.
pub(super) const STYLE: &str = include_str!("../../../assets/plot.css");
/// The shapes of points: series differ in shape, not by colour alone.
pub(super) const SHAPES: &str = "<defs>\
    <circle id=\"m0\" r=\"3.5\"/><path id=\"m1\" d=\"M-3-3h6v6h-6z\"/>\
    <path id=\"m2\" d=\"M0-4L4 3H-4z\"/><path id=\"m3\" d=\"M0-4.5L4.5 0L0 4.5L-4.5 0z\"/>\
    <path id=\"l0\" d=\"M0-5.5L5.5 0L0 5.5L-5.5 0z\"/><circle id=\"l1\" r=\"3.5\"/>\
    <circle id=\"l2\" r=\"4.5\"/><path id=\"l3\" d=\"M-3 0L5-5V5z\"/>\
    <path id=\"l4\" d=\"M3 0L-5-5V5z\"/></defs>";

/// Height of one entry of a legend.
const LEGEND_LINE: f64 = 18.0;

/// A plot while it is put together.
struct Drawn {
    width: f64,
    height: f64,
    body: String,
}

fn render(document: &Document, _style: &Style) -> String {
    let plots: Vec<Drawn> = document.plots().map(|plot| drawn(plot, &intervals::WIDE)).collect();
    let height: f64 = plots.iter().map(|plot| plot.height + 12.0).sum::<f64>().max(60.0);
    let width = plots.iter().map(|plot| plot.width).fold(WIDTH, f64::max);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" width=\"{width}\" \
         height=\"{height:.0}\" viewBox=\"0 0 {width} {height:.0}\" role=\"img\">\
         <title>{}</title><style>{STYLE}</style>{SHAPES}\
         <rect width=\"100%\" height=\"100%\" style=\"fill:var(--paper)\"/>",
        markup(&document.title)
    );
    let mut top = 0.0;
    for plot in &plots {
        let _ = write!(out, "<g transform=\"translate(0 {top:.0})\">{}</g>", plot.body);
        top += plot.height + 12.0;
    }
    if plots.is_empty() {
        let note = "this report has nothing to draw; `proofmark report --format svg` draws a run";
        let _ = write!(out, "<text x=\"12\" y=\"34\">{}</text>", markup(note));
    }
    out + "</svg>\n"
}

/// The plot as elements within a page, which has [`STYLE`] and [`SHAPES`] already: one, or one for
/// wide pages and one for narrow ones.
pub(super) fn elements(plot: &Plot) -> String {
    if plot.kind == PlotKind::Intervals {
        return element(plot, &intervals::WIDE, " wide")
            + &element(plot, &intervals::NARROW, " narrow");
    }
    element(plot, &intervals::WIDE, "")
}

fn element(plot: &Plot, layout: &intervals::Layout, class: &str) -> String {
    let Drawn { width, height, body } = drawn(plot, layout);
    let says = [plot.title.as_str(), plot.says.as_str()].join(". ");
    format!(
        "<svg class=\"plot{class}\" viewBox=\"0 0 {width} {height:.0}\" role=\"img\" \
         aria-label=\"{}\">{body}</svg>",
        markup(says.trim_end_matches(". "))
    )
}

fn drawn(plot: &Plot, layout: &intervals::Layout) -> Drawn {
    let size = if layout.width < WIDTH { "title small" } else { "title" };
    let mut body =
        format!("<text class=\"{size}\" x=\"8\" y=\"20\">{}</text>", markup(&plot.title));
    if plot.kind == PlotKind::Intervals {
        let height = intervals::draw(plot, layout, &mut body);
        return Drawn { width: layout.width, height, body };
    }
    let bottom = match plot.kind {
        PlotKind::Bars => bars::draw(plot, &mut body),
        PlotKind::Stacks => stacks::draw(plot, &mut body),
        PlotKind::HeatMap => heat::draw(plot, &mut body),
        _ => cross::draw(plot, &mut body),
    };
    let height = match plot.kind {
        PlotKind::HeatMap => bottom,
        PlotKind::Bars if plot.series.len() < 2 => bottom,
        _ => legend(plot, bottom, &mut body),
    };
    Drawn { width: WIDTH, height, body }
}

/// The names of the series below the drawing, in columns; the new bottom.
fn legend(plot: &Plot, top: f64, out: &mut String) -> f64 {
    let named: Vec<(usize, &Series)> =
        plot.series.iter().enumerate().filter(|(_, series)| !series.is_limit).collect();
    let longest = named.iter().map(|(_, series)| series.name.chars().count()).max().unwrap_or(0);
    let width = (longest as f64 * 7.0 + 30.0).clamp(90.0, WIDTH - 24.0);
    let columns = ((WIDTH - 24.0) / width).floor().max(1.0) as usize;
    for (place, (index, series)) in named.iter().enumerate() {
        let x = 18.0 + (place % columns) as f64 * width;
        let y = top + 8.0 + (place / columns) as f64 * LEGEND_LINE;
        let _ = write!(
            out,
            "<g class=\"key\" data-s=\"{index}\"><use href=\"#m{}\" x=\"{x:.0}\" y=\"{y:.0}\" \
             class=\"s{}\"/><text x=\"{:.0}\" y=\"{:.0}\">{}</text></g>",
            shape(*index),
            index % COLOURS,
            x + 10.0,
            y + 4.0,
            markup(&series.name)
        );
    }
    top + named.len().div_ceil(columns) as f64 * LEGEND_LINE + 6.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PlotAxis, Point};
    use serde_json::Value;

    fn sample(kind: PlotKind) -> Plot {
        let axes = (PlotAxis::log("d", ""), PlotAxis::log("time", "ns"));
        let point = |x: f64, y: f64| Point {
            low: Some(y * 0.9),
            high: Some(y * 1.1),
            value: Some(y),
            ..Point::at(x, y, "a case")
        };
        let hostile = "<script>alert(1)</script>";
        Plot {
            value: Some(PlotAxis::linear("efficiency", "%")),
            ..Plot::new(hostile, kind, axes.0, axes.1)
        }
        .with(Series::new(hostile, vec![point(64.0, 1e3), point(128.0, 2e3), point(f64::NAN, 1.0)]))
        .with(Series::limit("DRAM", vec![point(64.0, 1e3), point(128.0, 1e3)]))
    }

    #[test]
    fn every_kind_is_drawn_with_its_marks_and_names_stay_text() {
        for (kind, mark, count) in [
            (PlotKind::Lines, "<use href=\"#m0\"", 3),
            (PlotKind::Scatter, "<use href=\"#m0\"", 3),
            (PlotKind::Roofline, "class=\"limit\"", 1),
            (PlotKind::Distribution, "<use href=\"#m0\"", 3),
            (PlotKind::Bars, "class=\"bar", 5),
            (PlotKind::Stacks, "class=\"bar", 5),
            (PlotKind::HeatMap, "class=\"h", 14),
            (PlotKind::Intervals, "<use href=\"#l4\"", 4),
        ] {
            let mut document = Document::new("t", Value::Null, "");
            document.plot(sample(kind));
            let text = render(&document, &Style::default());
            assert!(!text.contains("<script"), "{kind:?}: {text}");
            assert!(text.contains("&lt;script&gt;alert(1)"), "{kind:?}: {text}");
            assert!(!text.contains("NaN"), "{kind:?}: {text}");
            assert_eq!(text.matches(mark).count(), count, "{kind:?}: {text}");
        }
    }

    #[test]
    fn a_document_without_plots_says_so() {
        let text = render(&Document::new("t", Value::Null, ""), &Style::default());
        assert!(text.contains("nothing to draw") && text.ends_with("</svg>\n"), "{text}");
    }
}
