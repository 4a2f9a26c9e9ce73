//! The status page: how near each op is to its limit, and where to begin.

use super::{ReportedRun, group_name};
use crate::document::{Cell, Column, Document};
use crate::plain::percent;
use crate::reports::bench::shape;
use crate::{Plot, PlotAxis, PlotKind, Point, Series};
use proofmark_analyze::{Band, Standing, status};
use proofmark_schema::quantity::{Nanos, three_digits};
use proofmark_schema::record::Bound;
use serde_json::{Value, json};

const COLUMNS: [Column; 8] = [
    Column::right("rank", 0),
    Column::left("op", 0),
    Column::right("efficiency", 0),
    Column::left("held by", 1),
    Column::right("lost above the limit", 0),
    Column::right("best peer ÷ ours", 2),
    Column::left("farthest case", 3),
    Column::text("what would help", 1),
];

/// Ops that the picture has room for; the table has all.
const SHOWN: usize = 12;

pub(super) fn push(document: &mut Document, run: &ReportedRun) -> Vec<Value> {
    let found = status(&run.records);
    if found.is_empty() {
        if run.records.iter().any(|record| record.judged.performance().is_some()) {
            document.text("The limits of the machine were not known, so the distance to them is not known either.");
            document.command("proofmark machine probe");
        }
        return Vec::new();
    }
    if let Some(text) = super::analysis::next(&run.records) {
        document.text(text);
    }
    let bars = found.iter().enumerate().map(|(row, standing)| {
        Point::at(row as f64, 100.0 * standing.share, group_name(&standing.group))
    });
    let axes = (PlotAxis::linear("op", ""), PlotAxis::linear("of all time lost", "%"));
    let plot = Plot::new("Where time is lost", PlotKind::Bars, axes.0, axes.1);
    if found.iter().any(|standing| standing.share > 0.0) {
        document.plot(plot.with(Series::new("", bars.take(SHOWN).collect())));
    }
    let rows = found.iter().enumerate().map(|(rank, standing)| row(rank + 1, standing)).collect();
    document.table("Ops by what is to be gained", &COLUMNS, rows);
    document.note(
        "the fastest kernel of ours stands for each case; cases of a model count as often as the \
         model has them. Rank: share of the time lost × distance to the limit",
    );
    found.iter().map(data).collect()
}

fn row(rank: usize, standing: &Standing<'_>) -> Vec<Cell> {
    let band = Band::of(standing.efficiency).map_or("", Band::name);
    let lost = Nanos(standing.lost_ns);
    vec![
        Cell::plain(rank.to_string()),
        Cell::plain(group_name(&standing.group)),
        Cell::plain(format!("{} {band}", percent(100.0 * standing.efficiency))),
        standing.bound.map_or_else(Cell::nothing, |bound| Cell::plain(bound.name())),
        Cell::plain(format!("{} ({lost})", percent(100.0 * standing.share))),
        standing
            .peers
            .map_or_else(Cell::nothing, |ratio| Cell::plain(format!("{}×", three_digits(ratio)))),
        Cell::plain(shape(standing.worst)),
        Cell::plain(advice(standing)),
    ]
}

fn advice(standing: &Standing<'_>) -> String {
    if standing.peers.is_some_and(|ratio| ratio < 0.95) {
        return "a peer is faster: look at how it does it".to_owned();
    }
    if standing.efficiency >= 0.8 {
        return "little: only less work or fewer bytes".to_owned();
    }
    match standing.bound {
        Some(Bound::Compute) => "wider or more parallel arithmetic, more of it in flight",
        Some(Bound::L1 | Bound::L2 | Bound::L3) => "blocks that stay in a nearer cache, fusion",
        Some(Bound::Dram) => "fewer bytes: fusion, narrower types, streaming stores",
        Some(Bound::Overhead) => "larger calls, or fewer",
        None => "probe the machine to know what holds it",
    }
    .to_owned()
}

fn data(standing: &Standing<'_>) -> Value {
    json!({
        "operation": standing.group.op,
        "dtype": standing.group.dtype.name(),
        "threads": standing.group.threads,
        "cases": standing.cases,
        "efficiency": 100.0 * standing.efficiency,
        "band": Band::of(standing.efficiency).map(Band::name),
        "bound": standing.bound.map(Bound::name),
        "lost_ms": standing.lost_ns * 1e-6,
        "lost_percent": 100.0 * standing.share,
        "weight": standing.weight,
        "best_peer_ratio": standing.peers,
        "farthest_case": standing.worst.case,
    })
}
