//! How times move along the axes that the run varied.

use super::{ReportedRun, group_name};
use crate::document::{Cell, Column, Document};
use crate::flat::metric;
use crate::plain::percent;
use crate::reports::bench::shape;
use crate::{Plot, PlotAxis, PlotKind, Point, Series};
use proofmark_analyze::{AxisSweep, MapSweep, RoleMean, axis_sweeps, map_sweeps, role_means};
use proofmark_schema::quantity::three_digits;
use proofmark_schema::record::Record;
use serde_json::{Value, json};

const ROLES: [Column; 7] = [
    Column::left("op", 0),
    Column::left("by", 0),
    Column::right("size", 0),
    Column::right("cases", 2),
    Column::left("fastest on most", 0),
    Column::right("efficiency", 1),
    Column::right("GB/s", 3),
];

/// Lines that a plot has room for.
const SHOWN: usize = 8;

pub(super) fn push(document: &mut Document, run: &ReportedRun) -> Vec<Value> {
    for sweep in axis_sweeps(&run.records) {
        let left_out = sweep.lines.len().saturating_sub(SHOWN);
        document.plot(lines(&sweep));
        if left_out > 0 {
            document.note(format!("the {left_out} slowest are left out; the tables have them"));
        }
    }
    for map in map_sweeps(&run.records) {
        document.plot(heat(&map));
    }
    let means = role_means(&run.records);
    document.details("Means by batch, sequence and dimension", |document| {
        document.table("", &ROLES, means.iter().map(row).collect());
    });
    means.iter().map(data).collect()
}

/// Times along one axis, the fastest contenders first.
fn lines(sweep: &AxisSweep<'_>) -> Plot {
    let fixed: Vec<String> = sweep
        .base
        .axes
        .iter()
        .filter(|(name, _)| name != sweep.axis)
        .map(|(name, size)| format!("{name}={size}"))
        .collect();
    let title = format!("{} by {} ({})", group_name(&sweep.group), sweep.axis, fixed.join(", "));
    let y = PlotAxis::log("time", "ns");
    let mut plot = Plot::new(title, PlotKind::Lines, PlotAxis::log(sweep.axis, ""), y);
    let time = |record: &Record| record.judged.performance().map(|of| of.wall_ns);
    let mut lines = sweep.lines.clone();
    let mean = |line: &[(u64, &Record)]| {
        let logs = line.iter().filter_map(|(_, record)| Some(time(record)?.estimate.ln()));
        logs.sum::<f64>() / line.len() as f64
    };
    lines.sort_by(|a, b| mean(&a.1).total_cmp(&mean(&b.1)));
    for (contender, line) in lines.iter().take(SHOWN) {
        let point = |(size, record): &(u64, &Record)| {
            let wall = time(record)?;
            Some(Point {
                low: Some(wall.low),
                high: Some(wall.high),
                ..Point::at(*size as f64, wall.estimate, "")
            })
        };
        let points = line.iter().filter_map(point).collect();
        plot.series.push(Series::new(contender.to_string(), points));
    }
    plot
}

/// Efficiency of the fastest over two axes, or its rate where no limits are known.
fn heat(map: &MapSweep<'_>) -> Plot {
    let has_limits = map.tiles.iter().all(|tile| metric(tile.best, "efficiency").is_some());
    let (name, unit, value) = match has_limits {
        true => ("efficiency", "%", "efficiency"),
        false => ("traffic", "GB/s", "throughput_gbps"),
    };
    let [x, y] = map.axes;
    let title = format!("{}: the fastest by {x} and {y}", group_name(&map.group));
    let mut plot =
        Plot::new(title, PlotKind::HeatMap, PlotAxis::linear(x, ""), PlotAxis::linear(y, ""));
    plot.value = Some(PlotAxis::linear(name, unit));
    let point = |tile: &proofmark_analyze::Tile<'_>| Point {
        value: metric(tile.best, value),
        ..Point::at(
            tile.x as f64,
            tile.y as f64,
            format!("{} ({})", tile.best.contender, shape(tile.best)),
        )
    };
    plot.with(Series::new("", map.tiles.iter().map(point).collect()))
}

fn row(mean: &RoleMean<'_>) -> Vec<Cell> {
    let or_nothing = |text: Option<String>| text.map_or_else(Cell::nothing, Cell::plain);
    vec![
        Cell::plain(group_name(&mean.group)),
        Cell::plain(mean.role),
        Cell::plain(mean.size.to_string()),
        Cell::plain(mean.cases.to_string()),
        Cell::plain(mean.most.to_string()),
        or_nothing(mean.efficiency.map(percent)),
        or_nothing(mean.gbps.map(three_digits)),
    ]
}

fn data(mean: &RoleMean<'_>) -> Value {
    json!({
        "operation": mean.group.op,
        "dtype": mean.group.dtype.name(),
        "threads": mean.group.threads,
        "by": mean.role,
        "size": mean.size,
        "cases": mean.cases,
        "fastest_on_most": mean.most,
        "efficiency": mean.efficiency,
        "throughput_gbps": mean.gbps,
    })
}
