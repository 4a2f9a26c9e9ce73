//! One plot of the duel: false alarms against slowdowns of 2 % that were found.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::record::Record;
use super::table::{Tally, names};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 380.0;

/// Labels are no closer to each other, in pixels.
const LABEL_GAP: f64 = 16.0;

/// The planted per cent that the plot shows.
const SHOWN: u64 = 2;

struct Point {
    label: String,
    is_ours: bool,
    alarm: f64,
    found: f64,
}

/// The plot as a picture that suits light and dark pages.
pub(super) fn svg(records: &[Record]) -> String {
    let mut points = points(records);
    points.sort_by(|a, b| b.found.total_cmp(&a.found).then(a.alarm.total_cmp(&b.alarm)));
    let worst = points.iter().map(|point| point.alarm).fold(0.0, f64::max);
    // Tenths, so that grid lines are round.
    let span = ((10.0 * worst).ceil() / 10.0).max(0.1);
    let mut text = frame(span);
    let mut lowest_label = f64::NEG_INFINITY;
    for point in &points {
        let x = LEFT + (RIGHT - LEFT) * point.alarm / span;
        let y = BOTTOM - (BOTTOM - TOP) * point.found;
        let label = (y + 4.0).max(lowest_label + LABEL_GAP);
        lowest_label = label;
        let class = if point.is_ours { "ours" } else { "other" };
        let _ = writeln!(
            text,
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>\n\
             <circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"/>\n\
             <text class=\"{class}\" x=\"{:.1}\" y=\"{label:.1}\">{}</text>",
            RIGHT + 12.0,
            label - 4.0,
            RIGHT + 16.0,
            point.label
        );
    }
    text + "</svg>\n"
}

/// One point for each harness and budget, over all classes and regimes.
fn points(records: &[Record]) -> Vec<Point> {
    let budget = |record: &Record| (1000.0 * record.budget_seconds).round() as u64;
    let budgets: BTreeSet<u64> = records.iter().map(budget).collect();
    let mut points = Vec::new();
    for name in names(records) {
        for &wanted in &budgets {
            let mine = records.iter().filter(|r| r.harness == name && budget(r) == wanted);
            let tally = Tally::of(mine);
            let found = tally.found.get(&SHOWN).copied().unwrap_or_default();
            // A point needs both numbers.
            if tally.false_alarms.1 == 0 || found.1 == 0 {
                continue;
            }
            points.push(Point {
                label: format!("{name}, {:.1} s", tally.median_seconds()),
                is_ours: name == "proofmark",
                alarm: tally.false_alarms.0 as f64 / tally.false_alarms.1 as f64,
                found: found.0 as f64 / found.1 as f64,
            });
        }
    }
    points
}

/// Style, axes and grid; colours follow the reader's scheme.
fn frame(span: f64) -> String {
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         role=\"img\" aria-label=\"False alarms against slowdowns found, by harness\">\n\
         <style>\n\
         text {{ font: 13px sans-serif; fill: #1f2328; }}\n\
         .grid {{ stroke: #8c959f; stroke-opacity: 0.4; }}\n\
         .other {{ fill: #57606a; }}\n\
         .ours {{ fill: #0969da; }}\n\
         text.ours {{ font-weight: bold; }}\n\
         @media (prefers-color-scheme: dark) {{\n\
         text {{ fill: #e6edf3; }}\n\
         .other {{ fill: #9da7b3; }}\n\
         .ours {{ fill: #58a6ff; }}\n\
         }}\n\
         </style>\n"
    );
    for step in 0..=5 {
        let share = f64::from(step) / 5.0;
        let (x, y) = (LEFT + (RIGHT - LEFT) * share, BOTTOM - (BOTTOM - TOP) * share);
        let _ = writeln!(
            text,
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{BOTTOM}\"/>\n\
             <line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\"/>\n\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{:.0} %</text>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.0} %</text>",
            BOTTOM + 18.0,
            100.0 * span * share,
            LEFT - 8.0,
            y + 4.0,
            100.0 * share
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">false alarms: the same code called \
         different</text>\n\
         <text x=\"{LEFT}\" y=\"{:.1}\">slowdowns of {SHOWN} % found (median seconds beside the \
         name)</text>",
        (LEFT + RIGHT) / 2.0,
        BOTTOM + 44.0,
        TOP - 16.0
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duel::table::tests::fixture;

    #[test]
    fn the_plot_is_that_of_the_records() {
        let records = fixture();
        let plot = svg(&records);
        assert!(plot.contains(">proofmark, 0.3 s<") && plot.contains(">criterion, 2.1 s<"));
        // Criterion: 2 of 4 false alarms are the right edge of a span of 50 %, 1 of 3 found.
        assert!(plot.contains("class=\"other\" cx=\"560.0\" cy=\"266.7\""), "{plot}");
        assert!(plot.contains("class=\"ours\" cx=\"70.0\" cy=\"40.0\""), "{plot}");
        let mut reversed = records;
        reversed.reverse();
        assert_eq!(svg(&reversed), plot, "the order of records must not matter");
    }

    #[test]
    fn labels_of_points_at_one_place_do_not_overlap() {
        let mut records = fixture();
        let twin = records.iter().filter(|record| record.harness == "proofmark").cloned();
        let twin: Vec<Record> =
            twin.map(|record| Record { harness: "divan".to_owned(), ..record }).collect();
        records.extend(twin);
        let plot = svg(&records);
        assert!(plot.contains("y=\"44.0\">") && plot.contains("y=\"60.0\">"), "{plot}");
    }
}
