//! Where a run was made and how, so that its numbers can be judged later.

use super::ReportedRun;
use crate::document::{Cell, Column, Document};
use crate::reports::machine::{fact_rows, push_facts};
use proofmark_schema::Receipt;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const RECEIPTS: [Column; 4] = [
    Column::left("contender", 0),
    Column::text("version", 0),
    Column::text("build", 2),
    Column::left("path", 1),
];

pub(super) fn push(document: &mut Document, run: &ReportedRun) -> Vec<Value> {
    push_facts(document, "How the run was made", run.facts.iter().cloned());
    if let Some(machine) = &run.machine {
        push_facts(document, "Machine", fact_rows(machine));
    }
    let mut receipts: BTreeMap<String, &Receipt> = BTreeMap::new();
    for record in run.records.iter().filter(|record| !record.receipt.version.is_empty()) {
        receipts.entry(record.contender.to_string()).or_insert(&record.receipt);
    }
    let rows = receipts.iter().map(|(contender, receipt)| {
        let text = |text: &str| if text.is_empty() { Cell::nothing() } else { Cell::plain(text) };
        vec![
            Cell::plain(contender),
            text(&receipt.version),
            text(&receipt.build),
            text(&receipt.isa),
        ]
    });
    document.details("What contenders say of themselves", |document| {
        document.table("", &RECEIPTS, rows.collect());
    });
    let facts: Map<String, Value> =
        run.facts.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    vec![json!({ "facts": facts, "machine": run.machine })]
}
