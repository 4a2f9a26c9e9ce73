//! Which contenders were proven on which op in this run.

use super::ReportedRun;
use crate::document::Document;
use crate::reports::coverage::{CoverageRow, push_table};
use proofmark_schema::Outcome;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) fn push(document: &mut Document, run: &ReportedRun) -> Vec<Value> {
    // The worst outcome of all cases stands for an element type.
    let mut known: BTreeMap<(String, String), BTreeMap<String, Outcome>> = BTreeMap::new();
    for record in &run.records {
        let key = (record.case.op.clone(), record.contender.to_string());
        let outcome = record.judged.proof().outcome;
        let states = known.entry(key).or_default();
        let state = states.entry(record.case.dtype.name().to_owned()).or_insert(outcome);
        *state = (*state).max(outcome);
    }
    let rows: Vec<CoverageRow> = known
        .into_iter()
        .map(|((op, contender), states)| {
            let state = |(dtype, outcome): (String, Outcome)| (dtype, Some(outcome));
            CoverageRow { op, contender, states: states.into_iter().map(state).collect() }
        })
        .collect();
    document.details("Op by op, the worst outcome of all cases", |document| {
        push_table(document, "", &rows);
    });
    let data = |row: &CoverageRow| {
        let states: BTreeMap<_, _> = row.states.iter().cloned().collect();
        json!({ "operation": row.op, "contender": row.contender, "states": states })
    };
    rows.iter().map(data).collect()
}
