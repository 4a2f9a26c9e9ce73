//! The report of coverage: which contenders are proven on which op.

use crate::document::{Cell, Column, Document, Emphasis};
use proofmark_schema::Outcome;
use serde_json::json;

/// One contender on one op.
#[derive(Clone, Debug)]
pub struct CoverageRow {
    /// The op.
    pub op: String,
    /// The contender.
    pub contender: String,
    /// Element types with their outcomes; none where it was not judged yet.
    pub states: Vec<(String, Option<Outcome>)>,
}

/// The word of a state in JSON.
fn name(state: Option<Outcome>) -> &'static str {
    state.map_or("NOT_YET", Outcome::name)
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
    let state = |(dtype, outcome): &(String, Option<Outcome>)| {
        let state = name(*outcome);
        json!({ "dtype": dtype, "state": state })
    };
    let data: Vec<_> = rows
        .iter()
        .map(|row| {
            let states: Vec<_> = row.states.iter().map(state).collect();
            json!({ "op": row.op, "contender": row.contender, "states": states })
        })
        .collect();
    let mut document = Document::new("Coverage", json!({ "coverage": data }), "coverage");
    push_table(&mut document, "", rows);
    let has = |wanted: Option<Outcome>| {
        rows.iter().any(|row| row.states.iter().any(|(_, state)| *state == wanted))
    };
    if has(None) {
        document.text("To prove what is not proven yet, or was changed since:");
        document.command("proofmark prove --all --missing --with 'native/* peer/*'");
    }
    if has(Some(Outcome::Absent)) {
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
    let of = |wanted: Option<Outcome>| {
        let meant = row.states.iter().filter(|(_, state)| *state == wanted);
        meant.map(|(dtype, _)| dtype.as_str()).collect::<Vec<_>>().join(" ")
    };
    let columns = [Some(Outcome::Proven), Some(Outcome::Unsupported)];
    let mut others: Vec<String> = Vec::new();
    for &(_, state) in row.states.iter().filter(|(_, state)| !columns.contains(state)) {
        let words = format!("{} {}", name(state).to_lowercase().replace('_', " "), of(state));
        if !others.contains(&words) {
            others.push(words);
        }
    }
    let or_nothing = |text: String| match text.is_empty() {
        true => Cell::nothing(),
        false => Cell::plain(text),
    };
    let proven = of(Some(Outcome::Proven));
    vec![
        Cell::plain(&row.op),
        Cell::plain(&row.contender),
        if proven.is_empty() { Cell::nothing() } else { Cell::with(proven, Emphasis::Good) },
        or_nothing(of(Some(Outcome::Unsupported))),
        or_nothing(others.join(", ")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};

    #[test]
    fn each_state_is_told_with_what_to_do_about_it() {
        let row = |contender: &str, states: [Option<Outcome>; 2]| CoverageRow {
            op: "matmul".to_owned(),
            contender: contender.to_owned(),
            states: ["f32", "bf16"].map(str::to_owned).into_iter().zip(states).collect(),
        };
        let document = coverage(&[
            row("native/simd", [Some(Outcome::Proven), None]),
            row("peer/blas", [Some(Outcome::Wrong), Some(Outcome::Unsupported)]),
            row("peer/torch", [Some(Outcome::Absent); 2]),
        ]);
        let text = (find("term").unwrap().render)(&document, &Style::default());
        for part in
            ["not yet bf16", "wrong f32", "absent f32 bf16", "prove --all", "$ proofmark peers"]
        {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        let state = |row: usize| &document.data["coverage"][row]["states"][1]["state"];
        assert_eq!((state(0), state(1)), (&json!("NOT_YET"), &json!("UNSUPPORTED")));
    }
}
