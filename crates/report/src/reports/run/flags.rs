//! Red flags: what makes numbers doubtful, and refusals with the commands that show them.

use super::ReportedRun;
use crate::document::{Cell, Column, Document, Emphasis};
use proofmark_analyze::{Flag, flags};
use serde_json::{Value, json};

const COLUMNS: [Column; 5] = [
    Column::left("flag", 0),
    Column::left("contender", 0),
    Column::right("cases", 1),
    Column::text("worst", 0),
    Column::text("what to do", 2),
];

/// Refusals that are told with their command; the table counts all.
const TOLD: usize = 12;

pub(super) fn push(document: &mut Document, run: &ReportedRun) -> Vec<Value> {
    let found = flags(&run.records, &|record| run.spread(record));
    if !found.iter().any(|flag| flag.kind.is_red()) && !run.records.is_empty() {
        document.text("None: nothing was refused, times are steady, the machine was quiet.");
    }
    document.table("", &COLUMNS, found.iter().map(row).collect());
    let refusals = run.records.iter().filter_map(|record| {
        let refusal = record.judged.proof().refusal.as_ref()?;
        (!refusal.repro.is_empty()).then_some((record, refusal))
    });
    let refusals: Vec<_> = refusals.collect();
    for (record, refusal) in refusals.iter().take(TOLD) {
        document.text(format!(
            "{} {} on {}: {}",
            refusal.outcome, record.contender, record.case, refusal.reason
        ));
        document.command(&refusal.repro);
    }
    if let Some(more) = refusals.len().checked_sub(TOLD).filter(|more| *more > 0) {
        document.note(format!("{more} more refusals have their commands in the JSON"));
    }
    found.iter().map(data).collect()
}

fn row(flag: &Flag) -> Vec<Cell> {
    let name = match flag.kind.is_red() {
        true => Cell::with(flag.kind.name(), Emphasis::Bad),
        false => Cell::with(flag.kind.name(), Emphasis::Dim),
    };
    vec![
        name,
        Cell::plain(&flag.who),
        Cell::plain(flag.cases.to_string()),
        Cell::plain(&flag.worst),
        Cell::plain(flag.kind.advice()),
    ]
}

fn data(flag: &Flag) -> Value {
    json!({
        "flag": flag.kind.name(),
        "who": flag.who,
        "cases": flag.cases,
        "worst": flag.worst,
        "advice": flag.kind.advice(),
    })
}
