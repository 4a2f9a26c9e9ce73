//! The report of coverage: which contenders are proven on which op.

use crate::document::{Cell, Column, Document, Emphasis};
use serde_json::json;

/// One contender on one op.
#[derive(Clone, Debug)]
pub struct CoverageRow {
    /// The op.
    pub op: String,
    /// The contender.
    pub contender: String,
    /// Element types with their state: an outcome, `NOT_YET` or `ABSENT`.
    pub states: Vec<(String, String)>,
}

const COLUMNS: [Column; 5] = [
    Column::left("op", 0),
    Column::left("contender", 0),
    Column::left("proven", 0),
    Column::left("unsupported", 1),
    Column::text("else", 0),
];

/// The document of coverage.
pub fn coverage(rows: &[CoverageRow]) -> Document {
    let state = |(dtype, state): &(String, String)| json!({ "dtype": dtype, "state": state });
    let data: Vec<_> = rows
        .iter()
        .map(|row| {
            let states: Vec<_> = row.states.iter().map(state).collect();
            json!({ "op": row.op, "contender": row.contender, "states": states })
        })
        .collect();
    let mut document = Document::new("Coverage", json!({ "coverage": data }), "coverage");
    push_table(&mut document, "", rows);
    let has = |word: &str| rows.iter().any(|row| row.states.iter().any(|(_, s)| s == word));
    if has("NOT_YET") {
        document.text("To prove what is not proven yet, or was changed since:");
        document.command("proofmark prove --all --missing --with 'native/* peer/*'");
    }
    if has("ABSENT") {
        document.text("To get a peer that is absent:");
        document.command("proofmark peers");
    }
    document
}

/// Adds a table of which contenders are proven on which op.
pub(super) fn push_table(document: &mut Document, title: &str, rows: &[CoverageRow]) {
    document.table(title, &COLUMNS, rows.iter().map(cells).collect());
}

fn cells(row: &CoverageRow) -> Vec<Cell> {
    let of = |is_meant: &dyn Fn(&str) -> bool| {
        let meant = row.states.iter().filter(|(_, state)| is_meant(state));
        meant.map(|(dtype, _)| dtype.as_str()).collect::<Vec<_>>().join(" ")
    };
    let named = ["PROVEN", "UNSUPPORTED"];
    let mut others: Vec<String> = Vec::new();
    for (_, state) in row.states.iter().filter(|(_, state)| !named.contains(&state.as_str())) {
        let words = format!("{} {}", state.to_lowercase().replace('_', " "), of(&|s| s == state));
        if !others.contains(&words) {
            others.push(words);
        }
    }
    let or_nothing = |text: String| match text.is_empty() {
        true => Cell::nothing(),
        false => Cell::plain(text),
    };
    let proven = of(&|state| state == "PROVEN");
    vec![
        Cell::plain(&row.op),
        Cell::plain(&row.contender),
        if proven.is_empty() { Cell::nothing() } else { Cell::with(proven, Emphasis::Good) },
        or_nothing(of(&|state| state == "UNSUPPORTED")),
        or_nothing(others.join(", ")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};

    #[test]
    fn each_state_is_told_with_what_to_do_about_it() {
        let row = |contender: &str, states: &[(&str, &str)]| CoverageRow {
            op: "matmul".to_owned(),
            contender: contender.to_owned(),
            states: states.iter().map(|(d, s)| ((*d).to_owned(), (*s).to_owned())).collect(),
        };
        let document = coverage(&[
            row("native/simd", &[("f32", "PROVEN"), ("bf16", "NOT_YET")]),
            row("peer/blas", &[("f32", "WRONG"), ("bf16", "UNSUPPORTED")]),
            row("peer/torch", &[("f32", "ABSENT"), ("bf16", "ABSENT")]),
        ]);
        let text = (find("term").unwrap().render)(&document, &Style::default());
        for part in
            ["not yet bf16", "wrong f32", "absent f32 bf16", "prove --all", "$ proofmark peers"]
        {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert_eq!(document.data["coverage"][1]["states"][1]["state"], "UNSUPPORTED");
    }
}
