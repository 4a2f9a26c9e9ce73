//! The report of saved worker programs.

use crate::document::{Cell, Column, Document};
use proofmark_schema::Artefact;
use proofmark_schema::quantity::Bytes;
use serde_json::{Value, json};

const COLUMNS: [Column; 6] = [
    Column::left("name", 0),
    Column::left("sha-256", 0),
    Column::right("size", 3),
    Column::left("revision", 2),
    Column::left("rustc", 4),
    Column::left("contender", 1),
];

/// Characters of a hash that a table shows; JSON has all of them.
const SHORT: usize = 12;

/// The document of some baselines.
pub fn baseline(baselines: &[(String, Artefact)]) -> Document {
    let one = |(name, artefact): &(String, Artefact)| {
        let mut value = json!(artefact);
        value["name"] = Value::from(name.as_str());
        value
    };
    let data = json!({ "baselines": baselines.iter().map(one).collect::<Vec<_>>() });
    let mut document = Document::new("Baselines", data, "baselines");
    if baselines.is_empty() {
        document.text("None is saved: `proofmark baseline save NAME` keeps this program.");
    }
    let short = |text: &str| text.chars().take(SHORT).collect::<String>();
    let cell = |text: Option<String>| text.map_or_else(Cell::nothing, Cell::plain);
    let row = |(name, artefact): &(String, Artefact)| {
        vec![
            Cell::plain(name),
            Cell::plain(short(&artefact.sha256)),
            Cell::plain(Bytes(artefact.bytes).to_string()),
            cell(artefact.revision.as_deref().map(short)),
            cell(artefact.rustc.clone()),
            cell(artefact.contender.as_ref().map(ToString::to_string)),
        ]
    };
    document.table("", &COLUMNS, baselines.iter().map(row).collect());
    document
}
