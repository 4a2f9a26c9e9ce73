//! The tables of a bench with the slices behind every time.

use super::ReportedRun;
use crate::document::Document;
use crate::reports::bench::{push_absences, push_tables};
use serde_json::Value;

pub(super) fn push(document: &mut Document, run: &ReportedRun) -> Vec<Value> {
    push_tables(document, &run.records, &run.findings, &|record| run.samples(record));
    push_absences(document, &run.absent);
    Vec::new()
}
