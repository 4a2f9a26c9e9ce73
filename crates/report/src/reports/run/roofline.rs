//! Rates under the limits that the machine was probed for.

use super::ReportedRun;
use crate::document::Document;
use crate::flat::metric;
use crate::plain::{quantity, threads};
use crate::{Plot, PlotAxis, PlotKind, Point, Series};
use proofmark_analyze::{cells, field};
use proofmark_schema::record::{Bound, Record};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn push(document: &mut Document, run: &ReportedRun) -> Vec<Value> {
    let counts: BTreeSet<usize> = run.records.iter().map(|record| record.threads).collect();
    for count in counts {
        let bests: Vec<&Record> = cells(run.records.iter().filter(|of| of.threads == count))
            .iter()
            .filter_map(|cell| field(cell).first().map(|(record, _)| *record))
            .collect();
        document.plot(plot(&bests, count));
    }
    if document.plots().any(|plot| plot.kind == PlotKind::Roofline) {
        document.note(
            "each point is the fastest contender of a case; dashed lines are limits that were \
             probed on this machine. Far below the line: there is room. On it: only less work or \
             fewer bytes help.",
        );
    }
    Vec::new()
}

fn plot(bests: &[&Record], count: usize) -> Plot {
    let mut by_op: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    for record in bests {
        let Some(gflops) = metric(record, "gflops").filter(|rate| *rate > 0.0) else { continue };
        let intensity = record.work.flops as f64 / record.work.bytes() as f64;
        let label = format!("{} by {}", record.case, record.contender);
        let op = format!("{} {}", record.case.op, record.case.dtype);
        by_op.entry(op).or_default().push(Point::at(intensity, gflops, label));
    }
    let x = PlotAxis::log("arithmetic intensity", "flop/byte");
    let y = PlotAxis::log("rate", "GFLOP/s");
    let title = format!("Roofline, {}", threads(count));
    let mut plot = Plot::new(title, PlotKind::Roofline, x, y);
    let points = || by_op.values().flatten().map(|point| point.x).filter(|x| x.is_finite());
    let (low, high) = (points().fold(f64::INFINITY, f64::min), points().fold(0.0, f64::max));
    if high > 0.0 {
        limits(bests, low / 2.0, high * 2.0).into_iter().for_each(|limit| plot.series.push(limit));
    }
    plot.series.extend(by_op.into_iter().map(|(op, points)| Series::new(op, points)));
    plot
}

/// The limits that the records were held against: rates of units, and traffic that rises with
/// intensity up to the highest of these.
fn limits(bests: &[&Record], low: f64, high: f64) -> Vec<Series> {
    let mut units: BTreeMap<String, f64> = BTreeMap::new();
    let mut levels: BTreeMap<&'static str, f64> = BTreeMap::new();
    for record in bests {
        let Some(limits) = record.judged.performance().and_then(|of| of.limits) else { continue };
        let unit = limits.unit.map_or("arithmetic", |unit| unit.name());
        let raise = |known: &mut f64, rate: f64| *known = known.max(rate / 1e9);
        if limits.flops_per_second.is_finite() {
            raise(units.entry(unit.to_owned()).or_default(), limits.flops_per_second);
        }
        let is_traffic = !matches!(limits.bound, None | Some(Bound::Compute | Bound::Overhead));
        if let Some(bound) = limits.bound.filter(|_| is_traffic)
            && limits.bytes_per_second.is_finite()
        {
            raise(levels.entry(bound.name()).or_default(), limits.bytes_per_second);
        }
    }
    let top = units.values().copied().fold(0.0, f64::max);
    let mut found = Vec::new();
    for (unit, rate) in &units {
        let name = format!("{unit} {}", quantity(*rate, "GFLOP/s"));
        let ends = [low, high].map(|x| Point::at(x, *rate, ""));
        found.push(Series::limit(name, ends.to_vec()));
    }
    for (level, rate) in levels {
        let ridge = if top > 0.0 { (top / rate).clamp(low, high) } else { high };
        let name = format!("{level} {}", quantity(rate, "GB/s"));
        let ends = [low, ridge].map(|x| Point::at(x, x * rate, ""));
        found.push(Series::limit(name, ends.to_vec()));
    }
    found
}
