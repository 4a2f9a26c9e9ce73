//! Flat records as CSV, for spreadsheets and data frames.

use super::{ExportFile, ExportOptions, Exported, Exporter, single};
use crate::flat::flat_record;
use crate::render::csv::RENDERER;
use crate::{Document, Style};
use serde_json::{Value, json};

pub(super) const EXPORTER: Exporter = Exporter {
    name: "csv",
    summary: "flat records for spreadsheets and data frames",
    is_folder: false,
    is_text: true,
    has_failures: true,
    export,
};

fn export(run: &Exported<'_>, _options: &ExportOptions) -> Vec<ExportFile> {
    single((RENDERER.render)(&document(run), &Style::default()))
}

/// The flat records, as `bench --format csv` has them.
pub(super) fn document(run: &Exported<'_>) -> Document {
    let records: Vec<Value> = run.rows.iter().map(|row| flat_record(row.record)).collect();
    Document::new("", json!({ "records": records }), "records")
}
