//! The report of other tools' numbers, and of what was imported.

use crate::document::{Cell, Column, Document};
use crate::plain::counted;
use proofmark_schema::quantity::{Interval, Nanos};
use serde_json::json;

/// One benchmark of another tool.
#[derive(Clone, Debug)]
pub struct ImportRow {
    /// Its name there.
    pub name: String,
    /// Nanoseconds of one call.
    pub time: Interval,
    /// Values that this comes from.
    pub values: usize,
    /// What the estimate and its interval are.
    pub source: String,
}

/// One file that was imported.
#[derive(Clone, Debug)]
pub struct ImportedFile {
    /// Its name in the store.
    pub name: String,
    /// The format it was read as.
    pub from: String,
    /// The file.
    pub file: String,
    /// Benchmarks in it.
    pub rows: Vec<ImportRow>,
}

const ROWS: [Column; 5] = [
    Column::left("benchmark", 0),
    Column::right("time", 0),
    Column::right("from", 1),
    Column::right("to", 1),
    Column::text("what it is", 2),
];

const FILES: [Column; 4] = [
    Column::left("import", 0),
    Column::left("format", 0),
    Column::right("benchmarks", 1),
    Column::text("file", 2),
];

/// The document of one import.
pub fn import(file: &ImportedFile) -> Document {
    let data: Vec<_> = file
        .rows
        .iter()
        .map(|row| {
            json!({
                "import": file.name,
                "name": row.name,
                "time_ns": row.time.estimate,
                "time_ns_low": row.time.low,
                "time_ns_high": row.time.high,
                "confidence": row.time.confidence,
                "values": row.values,
                "unit": "ns",
                "source": row.source,
                "outcome": "UNPROVEN",
            })
        })
        .collect();
    let data = json!({ "import": file.name, "from": file.from, "file": file.file, "rows": data });
    let mut document = Document::new(format!("Import {}", file.name), data, "rows");
    let time = |ns: f64| Cell::plain(Nanos(ns).to_string());
    let cells = file.rows.iter().map(|row| {
        vec![
            Cell::plain(&row.name),
            time(row.time.estimate),
            time(row.time.low),
            time(row.time.high),
            Cell::plain(&row.source),
        ]
    });
    document.table("", &ROWS, cells.collect());
    document.note(
        "These kernels were not proven here and the machine is not known: the numbers stand \
         beside runs, never in one.",
    );
    document
}

/// The document of all imports.
pub fn imports(files: &[ImportedFile]) -> Document {
    let one = |file: &ImportedFile| {
        json!({
            "name": file.name, "from": file.from, "file": file.file,
            "benchmarks": file.rows.len(),
        })
    };
    let data = json!({ "imports": files.iter().map(one).collect::<Vec<_>>() });
    let mut document = Document::new("Imports", data, "imports");
    match files.len() {
        0 => document.text("There is none: `proofmark import FILE` reads and keeps one."),
        count => document.text(format!("{} kept.", counted(count, "file"))),
    }
    let row = |file: &ImportedFile| {
        vec![
            Cell::plain(&file.name),
            Cell::plain(&file.from),
            Cell::plain(file.rows.len().to_string()),
            Cell::plain(&file.file),
        ]
    };
    document.table("", &FILES, files.iter().map(row).collect());
    document
}
