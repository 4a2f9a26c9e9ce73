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
            "each point is the fastest contender of a case. The line above it ends at the rate that \
             its limit allows: a long line is room for a better kernel; without one, only less \
             work or fewer bytes help. Dashed lines are the limits that were probed on this machine",
        );
    }
    Vec::new()
}

fn plot(bests: &[&Record], count: usize) -> Plot {
    // The bound of a case says more than its op, and there are few bounds.
    let mut by_bound: BTreeMap<(u8, &str), Vec<Point>> = BTreeMap::new();
    for record in bests {
        let Some(gflops) = metric(record, "gflops").filter(|rate| *rate > 0.0) else { continue };
        let intensity = record.work.flops as f64 / record.work.bytes() as f64;
        let label = format!("{} by {}", record.case, record.contender);
        let limits = record.judged.performance().and_then(|of| of.limits);
        let least_ns = limits.map(|limits| limits.bound_ns).filter(|ns| *ns > 0.0);
        let attainable = least_ns.map(|ns| record.work.flops as f64 / ns);
        let key = match limits.and_then(|limits| limits.bound) {
            Some(Bound::Compute) => (0, "held by arithmetic"),
            Some(Bound::L1) => (1, "held by L1"),
            Some(Bound::L2) => (2, "held by L2"),
            Some(Bound::L3) => (3, "held by L3"),
            Some(Bound::Dram) => (4, "held by memory"),
            Some(Bound::Overhead) => (5, "held by the cost of a call"),
            None => (6, "limit not known"),
        };
        by_bound.entry(key).or_default().push(Point {
            low: attainable.map(|_| gflops),
            high: attainable,
            ..Point::at(intensity, gflops, label)
        });
    }
    let x = PlotAxis::log("arithmetic intensity", "flop/byte");
    let y = PlotAxis::log("rate", "GFLOP/s");
    let title = format!("Roofline, {}", threads(count));
    let mut plot = Plot::new(title, PlotKind::Roofline, x, y);
    let points = || by_bound.values().flatten().map(|point| point.x).filter(|x| x.is_finite());
    let (low, high) = (points().fold(f64::INFINITY, f64::min), points().fold(0.0, f64::max));
    if high > 0.0 {
        limits(bests, low / 2.0, high * 2.0).into_iter().for_each(|limit| plot.series.push(limit));
    }
    plot.series.extend(by_bound.into_iter().map(|((_, name), points)| Series::new(name, points)));
    plot.says = format!("{} points under their limits", bests.len());
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
