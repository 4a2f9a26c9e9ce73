//! The report of scaling: speed-up and efficiency by threads, the laws that fit, and what ends it.

use crate::document::{Cell, Column, Document, Emphasis};
use crate::plain::{percent, ratio, threads, time};
use crate::{Plot, PlotAxis, PlotKind, Point, Series};
use proofmark_analyze::{Cause, Label, ScalePoint, Scaling};
use proofmark_schema::quantity::{Nanos, three_digits};
use proofmark_schema::record::Bound;
use serde_json::json;

const COLUMNS: [Column; 7] = [
    Column::right("threads", 0),
    Column::right("time of a call", 1),
    Column::right("speed-up", 0),
    Column::right("efficiency", 0),
    Column::left("scaling", 0),
    Column::left("held by", 2),
    Column::right("of its bandwidth", 3),
];

/// The document of scalings.
pub fn scaling(run: &str, affinity: Option<&str>, scalings: &[Scaling]) -> Document {
    let data = json!({ "run": run, "affinity": affinity, "scalings": scalings });
    let mut document = Document::new("How speed grows with threads", data, "scalings");
    push(&mut document, scalings);
    document.note(match affinity {
        Some(affinity) => format!("{}; {affinity}.", how(scalings)),
        None => format!("{}.", how(scalings)),
    });
    document
}

/// Adds a table for each, and all as lines.
pub(super) fn push(document: &mut Document, scalings: &[Scaling]) {
    for scaling in scalings {
        let title = format!("{} {}", scaling.case, scaling.contender);
        document.table(title, &COLUMNS, scaling.points.iter().map(row).collect());
        document.text(sentence(scaling));
        document.note(laws(scaling));
    }
    let (x, y) = (PlotAxis::linear("threads", ""), PlotAxis::linear("speed-up", "×"));
    let plot = Plot::new("Speed-up by threads", PlotKind::Lines, x, y);
    if !scalings.is_empty() {
        document.plot(scalings.iter().take(SHOWN).fold(plot, |plot, it| plot.with(line(it))));
    }
}

/// Whether the thread counts ran side by side.
pub(super) fn how(scalings: &[Scaling]) -> &'static str {
    match scalings.iter().all(|scaling| scaling.is_interleaved) {
        true => "All thread counts ran side by side, in the blocks of one race",
        false => {
            "sequential: thread counts ran one after the other, so that drift of the machine is in \
             the ratios; `proofmark scale` runs them side by side"
        }
    }
}

/// Lines that a plot has room for.
const SHOWN: usize = 8;

fn line(scaling: &Scaling) -> Series {
    let point = |point: &ScalePoint| Point {
        low: Some(point.speedup.low),
        high: Some(point.speedup.high),
        ..Point::at(point.threads as f64, point.speedup.estimate, threads(point.threads))
    };
    let name = format!("{} {}", scaling.case, scaling.contender);
    Series::new(name, scaling.points.iter().map(point).collect())
}

fn row(point: &ScalePoint) -> Vec<Cell> {
    let emphasis = match point.label {
        Some(Label::Excellent | Label::Good) => Some(Emphasis::Good),
        Some(Label::Worse | Label::NoGain) => Some(Emphasis::Bad),
        _ => None,
    };
    let label = point
        .label
        .map_or_else(Cell::nothing, |label| Cell { emphasis, ..Cell::plain(label.name()) });
    let speedup = match point.label {
        None => "1× (base)".to_owned(),
        Some(_) => ratio(&point.speedup),
    };
    vec![
        Cell::plain(point.threads.to_string()),
        Cell::plain(time(&point.wall_ns)),
        Cell::plain(speedup),
        Cell::plain(percent(100.0 * point.efficiency)),
        label,
        Cell::plain(point.bound.map_or("–", Bound::name)),
        Cell::plain(point.bandwidth_share.map_or("–".to_owned(), |share| percent(100.0 * share))),
    ]
}

/// What a person would say of it.
fn sentence(scaling: &Scaling) -> String {
    let Some(widest) = scaling.points.last() else { return String::new() };
    let speed = three_digits(widest.speedup.estimate);
    let label = widest.label.map_or("", Label::name);
    let head = format!(
        "On {} it is {speed}× as fast as on one (efficiency {}, {label})",
        threads(widest.threads),
        percent(100.0 * widest.efficiency)
    );
    let share = |share: Option<f64>| percent(100.0 * share.unwrap_or(f64::NAN));
    let why = match scaling.cause {
        None => return format!("{head}."),
        Some(Cause::OneThread) => "It uses one thread, whatever it is given".to_owned(),
        Some(Cause::Memory) => format!(
            "Memory limits it: {} gives {} of its bandwidth, which more threads only share",
            widest.bound.map_or("it", Bound::name),
            share(widest.bandwidth_share)
        ),
        Some(Cause::Overhead) => format!(
            "Overhead limits it: an empty fork and join takes {} of a call's {}",
            Nanos(scaling.fork_join_ns.unwrap_or(f64::NAN)),
            Nanos(widest.wall_ns.estimate)
        ),
        Some(Cause::Contention) => {
            "Contention limits it: every pair of threads costs time, and more threads are slower"
                .to_owned()
        }
        Some(Cause::Serial) => format!(
            "A serial part limits it, as if {} of the work stayed on one thread",
            share(scaling.serial_share)
        ),
    };
    format!("{head}. {why}.")
}

/// The laws that fit, or why none does.
fn laws(scaling: &Scaling) -> String {
    let Some(amdahl) = scaling.amdahl else {
        return format!(
            "Two thread counts fit Amdahl's law only: a serial share of {}. Three would fit the \
             universal law too.",
            percent(100.0 * scaling.serial_share.unwrap_or(f64::NAN))
        );
    };
    let serial = [amdahl.serial.estimate, amdahl.serial.low, amdahl.serial.high];
    let [estimate, low, high] = serial.map(|share| percent(100.0 * share));
    let limit = if amdahl.limit > 1e6 {
        "no limit".to_owned()
    } else {
        format!("at most {}×", three_digits(amdahl.limit))
    };
    let mut text = format!("Amdahl: serial share {estimate} [{low}, {high}], {limit}.");
    if let Some(fit) = scaling.universal {
        let [sigma, kappa] = [fit.sigma, fit.kappa].map(three_digits);
        let peak = fit.peak_threads.map_or_else(
            || "it never falls again".to_owned(),
            |peak| format!("the best is {}", threads(peak.round() as usize)),
        );
        text += &format!(" Universal law: contention {sigma}, coherency {kappa}; {peak}.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::render::{Style, find};
    use proofmark_analyze::scalings;
    use proofmark_schema::record::Record;

    fn records(speedups: &[(usize, f64)], is_interleaved: bool) -> Vec<Record> {
        let one = |(arm, &(threads, speedup)): (usize, &(usize, f64))| {
            let mut record = if arm == 0 { fixture::first() } else { fixture::compared() };
            record.contender = "native/parallel@avx512".parse().unwrap();
            record.threads = threads;
            record.item = if is_interleaved { 0 } else { arm as u64 };
            if let proofmark_schema::record::Judged::Proven { performance: Some(own), .. } =
                &mut record.judged
            {
                own.wall_ns.estimate = 40_000.0 / speedup;
                if let Some(comparison) = &mut own.comparison {
                    let ratio = 1.0 / speedup;
                    comparison.ratio.estimate = ratio;
                    (comparison.ratio.low, comparison.ratio.high) = (0.98 * ratio, 1.02 * ratio);
                }
            }
            record
        };
        speedups.iter().enumerate().map(one).collect()
    }

    fn text(speedups: &[(usize, f64)], is_interleaved: bool, fork_join: &[(usize, f64)]) -> String {
        let scalings = scalings(&records(speedups, is_interleaved), fork_join);
        let document = scaling("r1", Some("one thread on processor 1"), &scalings);
        (find("term").unwrap().render)(
            &document,
            &Style { width: 160, colour: false, ..Style::default() },
        )
    }

    #[test]
    fn two_threads_are_told_with_their_cause_and_the_one_law_that_fits() {
        let text = text(&[(1, 1.0), (2, 1.6)], true, &[(2, 1_200.0)]);
        assert!(text.contains("1.60× [1.57, 1.63]"), "{text}");
        assert!(text.contains("(efficiency 80 %, good). A serial part limits it"), "{text}");
        assert!(text.contains("as if 25 % of the work stayed on one thread"), "{text}");
        assert!(text.contains("fit Amdahl's law only"), "{text}");
        assert!(text.contains("side by side, in the blocks of one race; one thread on"), "{text}");
    }

    #[test]
    fn more_threads_fit_both_laws_and_races_apart_are_called_sequential() {
        let text = text(&[(1, 1.0), (2, 1.9), (4, 3.4), (8, 5.5)], false, &[]);
        assert!(text.contains("Universal law"), "{text}");
        assert!(text.contains("Amdahl: serial share"), "{text}");
        assert!(text.contains("sequential"), "{text}");
    }
}
