//! Shows several runs side by side, where they measured the same.

use super::ReportedRun;
use crate::document::{Cell, Column, Document};
use crate::plain::{ratio, threads, time};
use proofmark_schema::quantity::Interval;
use proofmark_schema::record::Record;
use serde_json::{Value, json};

const COLUMNS: [Column; 5] = [
    Column::left("case", 0),
    Column::left("contender", 0),
    Column::left("run", 0),
    Column::right("time", 0),
    Column::right("× first run [widest]", 1),
];

/// Adds a row for each run of every case and contender that two or more runs measured.
pub(super) fn push(document: &mut Document, runs: &[ReportedRun]) -> Vec<Value> {
    let mut met: Vec<Vec<(&str, &Record, Interval)>> = Vec::new();
    for run in runs {
        for record in &run.records {
            let Some(performance) = record.judged.performance() else { continue };
            let entry = (run.name.as_str(), record, performance.wall_ns);
            let same = |others: &&mut Vec<(&str, &Record, Interval)>| {
                let first = others[0].1;
                first.case == record.case
                    && first.contender == record.contender
                    && first.threads == record.threads
                    && first.memory == record.memory
            };
            match met.iter_mut().find(same) {
                Some(others) => others.push(entry),
                None => met.push(vec![entry]),
            }
        }
    }
    met.retain(|entries| entries.iter().any(|entry| entry.0 != entries[0].0));
    if met.is_empty() {
        document.text("No case was measured with the same contender in more than one of the runs.");
        return Vec::new();
    }
    let (mut rows, mut data) = (Vec::new(), Vec::new());
    for entries in &met {
        let base = entries[0].2;
        for (index, (run, record, wall)) in entries.iter().enumerate() {
            let against = over(wall, &base);
            let case = format!("{}, {}", record.case, threads(record.threads));
            rows.push(vec![
                Cell::plain(case),
                Cell::plain(record.contender.to_string()),
                Cell::plain(*run),
                Cell::plain(time(wall)),
                if index == 0 { Cell::plain("first") } else { Cell::plain(ratio(&against)) },
            ]);
            data.push(json!({
                "run": run,
                "case": record.case,
                "contender": record.contender,
                "threads": record.threads,
                "time_ms": wall.estimate * 1e-6,
                "ratio_to_first_run": against.estimate,
            }));
        }
    }
    document.table("Measured in more than one run", &COLUMNS, rows);
    document.note(
        "times of different runs are not interleaved: the machine may have changed between them. \
         `proofmark compare` races two of them in turn and decides",
    );
    data
}

/// The ratio of two times that were measured apart: its ends are the worst of both.
fn over(a: &Interval, b: &Interval) -> Interval {
    let estimate = a.estimate / b.estimate;
    Interval { estimate, low: a.low / b.high, high: a.high / b.low, confidence: a.confidence }
}
