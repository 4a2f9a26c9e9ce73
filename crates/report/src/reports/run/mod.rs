//! The report of a run, or of several: every part of it, or those asked for.
//!
//! A new part is one file and one line in [`PARTS`].

mod analysis;
mod coverage;
mod flags;
mod lead;
mod map;
mod measured;
mod provenance;
mod ranking;
mod reported;
mod reproduce;
mod roofline;
mod status;
mod sweep;
mod title;
mod together;

pub use reported::ReportedRun;

use crate::document::{Details, Document, Section};
use crate::flat::flat_record;
use crate::reports::answer::answer;
use crate::reports::{scaling, step};
use reported::group_name;
use serde_json::{Value, json};

/// A part of the report.
pub struct Part {
    /// Its name on the command line and in JSON.
    pub name: &'static str,
    /// Its heading.
    title: &'static str,
    /// Adds it for one run, and gives it as data.
    push: fn(&mut Document, &ReportedRun) -> Vec<Value>,
}

/// Every part, in the order of importance: pictures, tables, then what explains them.
pub static PARTS: &[Part] = &[
    Part { name: "lead", title: "Who wins, and by how much", push: lead::push },
    Part { name: "map", title: "Every contender on every case", push: map::push },
    Part { name: "roofline", title: "Under the machine's limits", push: roofline::push },
    Part { name: "step", title: "A model's step", push: push_steps },
    Part { name: "bench", title: "Case by case", push: measured::push },
    Part { name: "status", title: "What to optimise first", push: status::push },
    Part { name: "ranking", title: "What to choose", push: ranking::push },
    Part { name: "sweep", title: "Along the axes", push: sweep::push },
    Part { name: "scaling", title: "By threads", push: push_scalings },
    Part { name: "flags", title: "Red flags and refusals", push: flags::push },
    Part { name: "coverage", title: "What is proven", push: coverage::push },
    Part { name: "machine", title: "Machine and provenance", push: provenance::push },
    Part { name: "reproduce", title: "Measure it again", push: reproduce::push },
];

/// The document of some runs: all parts, or those whose names are in `only`.
pub fn run(runs: &[ReportedRun], only: &[String]) -> Document {
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    let records = runs.iter().flat_map(|run| &run.records).map(flat_record);
    let analyses: Vec<String> = runs.iter().map(analysis::all).collect();
    let data = json!({
        "runs": names,
        "analysis": analyses,
        "records": records.collect::<Vec<_>>(),
        "findings": runs.iter().flat_map(|run| &run.findings).collect::<Vec<_>>(),
        "absent": runs.iter().flat_map(|run| &run.absent).collect::<Vec<_>>(),
    });
    let mut titles: Vec<String> = runs.iter().map(title::title).collect();
    titles.dedup();
    let title = if runs.is_empty() { "Nothing measured".to_owned() } else { titles.join("; ") };
    let mut document = Document::new(title, data, "records");
    if let [run] = runs {
        document.subtitle = title::subtitle(run);
    }
    for run in runs {
        push_answer(&mut document, run, runs.len() > 1);
    }
    if runs.len() > 1 && only.is_empty() {
        document.heading("Runs together");
        document.data["together"] = together::push(&mut document, runs).into();
    }
    for part in PARTS.iter().filter(|part| only.is_empty() || only.iter().any(|o| o == part.name)) {
        push_part(&mut document, part, runs, !only.is_empty());
    }
    document
}

/// The answer in a sentence and in numbers, and what to look at before a number is used.
fn push_answer(document: &mut Document, run: &ReportedRun, is_one_of_many: bool) {
    let answer = answer(&run.records);
    document.text(if is_one_of_many { format!("{}: {answer}", run.name) } else { answer });
    let figures = lead::figures(run);
    if !figures.is_empty() {
        document.sections.push(Section::KeyFigures(figures));
    }
    let red = flags::red(run);
    if !red.is_empty() {
        document.sections.push(Section::RedFlags(red));
    }
}

/// Adds a part for every run that has something to say in it.
///
/// Details are shown at once in a part that was asked for.
fn push_part(document: &mut Document, part: &Part, runs: &[ReportedRun], is_asked: bool) {
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
    let sources: String = runs.iter().map(|run| format!("{} ", run.short_source())).collect();
    let command = format!("proofmark report {}--only {}", sources.trim_start(), part.name);
    let added = document.sections.split_off(before);
    for section in added {
        match section {
            Section::Details(details) if is_asked => {
                document.text(details.summary);
                document.sections.extend(details.sections);
            }
            Section::Details(details) => {
                let details = Details { command: command.clone(), ..details };
                document.sections.push(Section::Details(details));
            }
            other => document.sections.push(other),
        }
    }
    // The data already holds the records of the bench, and the map is made of them.
    if !["bench", "map"].contains(&part.name) {
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

#[cfg(test)]
mod tests;
