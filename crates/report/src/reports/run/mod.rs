//! The report of a run, or of several: every part of it, or those asked for.
//!
//! A new part is one file and one line in [`PARTS`].

mod analysis;
mod coverage;
mod flags;
mod measured;
mod provenance;
mod ranking;
mod reproduce;
mod roofline;
mod status;
mod sweep;
mod together;

use crate::document::{Document, Samples};
use crate::flat::flat_record;
use crate::plain::time;
use crate::reports::{scaling, step};
use proofmark_schema::finding::Finding;
use proofmark_schema::machine::MachineFacts;
use proofmark_schema::plan::Absence;
use proofmark_schema::record::Record;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Slices of a record that a document keeps: enough for a picture, few enough for a page.
const KEPT: usize = 48;

/// A run as it is reported, wherever it came from.
#[derive(Clone, Debug, Default)]
pub struct ReportedRun {
    /// What it is called.
    pub name: String,
    /// Its records.
    pub records: Vec<Record>,
    /// What they say.
    pub findings: Vec<Finding>,
    /// The contenders that could not enter.
    pub absent: Vec<Absence>,
    /// Where it ran, if that is known.
    pub machine: Option<MachineFacts>,
    /// What else is known of how it came about.
    pub facts: Vec<(&'static str, String)>,
    /// Nanoseconds of a call for each slice, trial by trial, of each item and arm.
    pub slices: BTreeMap<(u64, u32), Vec<Vec<f64>>>,
}

impl ReportedRun {
    fn trials(&self, record: &Record) -> Option<&Vec<Vec<f64>>> {
        let arm = record.judged.performance()?.slices.arm;
        self.slices.get(&(record.item, arm)).filter(|trials| !trials.is_empty())
    }

    /// The slices behind a record's time, thinned out.
    fn samples(&self, record: &Record) -> Option<Arc<Samples>> {
        let trials = self.trials(record)?;
        let wall = record.judged.performance()?.wall_ns;
        let measured = trials.iter().map(Vec::len).sum();
        let each = (KEPT / trials.len()).max(2);
        Some(Arc::new(Samples {
            name: format!("{} on {}: {}", record.contender, record.case, time(&wall)),
            measured,
            trials: trials.iter().take(KEPT / 2).map(|trial| thinned(trial, each)).collect(),
            interval: [wall.low, wall.estimate, wall.high],
        }))
    }

    /// How far the middle half of a record's slices spreads, over their median.
    fn spread(&self, record: &Record) -> Option<f64> {
        let mut all: Vec<f64> = self.trials(record)?.iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        let quartile = |share: f64| all[((all.len() - 1) as f64 * share) as usize];
        (all.len() >= 8).then(|| (quartile(0.75) - quartile(0.25)) / quartile(0.5))
    }
}

/// At most `most` of the values, in their order, the least and the greatest among them.
fn thinned(values: &[f64], most: usize) -> Vec<f64> {
    if values.len() <= most {
        return values.to_vec();
    }
    let end = |pick: fn(f64, f64) -> bool| {
        (1..values.len()).fold(0, |at, i| if pick(values[i], values[at]) { i } else { at })
    };
    let mut kept: Vec<usize> =
        (0..most - 2).map(|i| i * values.len() / (most - 2).max(1)).collect();
    kept.extend([end(|a, b| a < b), end(|a, b| a > b)]);
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|i| values[i]).collect()
}

/// A part of the report.
pub struct Part {
    /// Its name on the command line and in JSON.
    pub name: &'static str,
    /// Its heading.
    title: &'static str,
    /// Adds it for one run, and gives it as data.
    push: fn(&mut Document, &ReportedRun) -> Vec<Value>,
}

/// Every part, in the order in which they are read.
pub static PARTS: &[Part] = &[
    Part { name: "bench", title: "Side by side", push: measured::push },
    Part { name: "ranking", title: "The fastest", push: ranking::push },
    Part { name: "roofline", title: "Under the machine's limits", push: roofline::push },
    Part { name: "sweep", title: "Along the axes", push: sweep::push },
    Part { name: "scaling", title: "By threads", push: push_scalings },
    Part { name: "status", title: "What to optimise first", push: status::push },
    Part { name: "step", title: "A model's step", push: push_steps },
    Part { name: "flags", title: "Red flags", push: flags::push },
    Part { name: "coverage", title: "What is proven", push: coverage::push },
    Part { name: "machine", title: "Machine and provenance", push: provenance::push },
    Part { name: "reproduce", title: "Measure it again", push: reproduce::push },
];

/// The document of some runs: all parts, or those whose names are in `only`.
pub fn run(runs: &[ReportedRun], only: &[String]) -> Document {
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    let records = runs.iter().flat_map(|run| &run.records).map(flat_record);
    let analyses: Vec<String> = runs.iter().map(analysis::sentence).collect();
    let data = json!({
        "runs": names,
        "analysis": analyses,
        "records": records.collect::<Vec<_>>(),
        "findings": runs.iter().flat_map(|run| &run.findings).collect::<Vec<_>>(),
        "absent": runs.iter().flat_map(|run| &run.absent).collect::<Vec<_>>(),
    });
    let mut document = Document::new(format!("Report {}", names.join(", ")), data, "records");
    for (run, analysis) in runs.iter().zip(analyses) {
        document.text(if runs.len() > 1 { format!("{}: {analysis}", run.name) } else { analysis });
    }
    if runs.len() > 1 && only.is_empty() {
        document.heading("Runs together");
        document.data["together"] = together::push(&mut document, runs).into();
    }
    for part in PARTS.iter().filter(|part| only.is_empty() || only.iter().any(|o| o == part.name)) {
        push_part(&mut document, part, runs);
    }
    document
}

/// Adds a part for every run that has something to say in it.
fn push_part(document: &mut Document, part: &Part, runs: &[ReportedRun]) {
    let mut rows = Vec::new();
    let before = document.sections.len();
    document.heading(part.title);
    for run in runs {
        let label = document.sections.len();
        if runs.len() > 1 {
            document.text(format!("Run {}:", run.name));
        }
        let empty = document.sections.len();
        for mut row in (part.push)(document, run) {
            if let Value::Object(members) = &mut row {
                members.entry("run").or_insert_with(|| run.name.clone().into());
            }
            rows.push(row);
        }
        if document.sections.len() == empty {
            document.sections.truncate(label);
        }
    }
    if document.sections.len() == before + 1 {
        document.sections.truncate(before);
    }
    // The data already holds the records of the bench.
    if part.name != "bench" {
        document.data[part.name] = rows.into();
    }
}

fn push_steps(document: &mut Document, run: &ReportedRun) -> Vec<Value> {
    let steps = proofmark_analyze::steps(&run.records);
    steps.iter().for_each(|step| step::push(document, step));
    steps.iter().map(step::flat).collect()
}

fn push_scalings(document: &mut Document, run: &ReportedRun) -> Vec<Value> {
    let scalings = proofmark_analyze::scalings(&run.records, &[]);
    scaling::push(document, &scalings);
    if !scalings.is_empty() {
        document.note(scaling::how(&scalings));
    }
    scalings.iter().map(|scaling| json!(scaling)).collect()
}

/// `matmul f32, 2 threads`.
fn group_name(group: &proofmark_analyze::Group<'_>) -> String {
    format!("{} {}, {}", group.op, group.dtype, crate::plain::threads(group.threads))
}

#[cfg(test)]
mod tests;
