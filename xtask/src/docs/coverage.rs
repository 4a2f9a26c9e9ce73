//! Which contender is proven on which op, from every record that judged one.

use std::path::Path;

use serde::Deserialize;

use super::races::Row;
use super::tables::{NOTHING, markdown};
use crate::Failure;

/// Element types in the order of the table.
const DTYPES: &[&str] = &["f32", "bf16", "f16", "i8"];

const PROVEN: &str = "PROVEN";
const UNSUPPORTED: &str = "UNSUPPORTED";

/// Outcomes that are about a proof. The others are about a time, or about what a machine has.
const JUDGED: &[&str] = &[UNSUPPORTED, PROVEN, "CRASHED", "WRONG"];

/// What a record says of a contender on an op with an element type.
#[derive(Clone, Debug, PartialEq)]
struct Cell {
    op: String,
    contender: String,
    dtype: String,
    outcome: String,
    /// The day of the record, as its folder names it.
    day: String,
}

/// One row of `prove --format json`.
#[derive(Deserialize)]
struct Proof {
    op: String,
    kernel: String,
    dtype: String,
    outcome: String,
}

/// One row of `list --coverage --format json`.
#[derive(Deserialize)]
struct Covered {
    op: String,
    contender: String,
    states: Vec<State>,
}

#[derive(Deserialize)]
struct State {
    dtype: String,
    state: String,
}

/// A record of any of the three commands that prove.
#[derive(Deserialize)]
#[serde(untagged)]
enum Record {
    Bench { records: Vec<Row> },
    Prove { results: Vec<Proof> },
    List { coverage: Vec<Covered> },
}

impl Record {
    /// Its cells, each once.
    fn cells(self, day: &str) -> Vec<Cell> {
        let bare = |contender: &str| contender.split('@').next().unwrap_or_default().to_owned();
        let cells: Vec<Cell> = match self {
            // A case that a contender does not do says nothing of the op's other cases.
            Record::Bench { records } => records
                .into_iter()
                .filter(|row| row.outcome != UNSUPPORTED)
                .map(|row| Cell {
                    contender: bare(&row.contender),
                    op: row.operation,
                    dtype: row.dtype,
                    outcome: row.outcome,
                    day: day.to_owned(),
                })
                .collect(),
            Record::Prove { results } => results
                .into_iter()
                .map(|proof| Cell {
                    contender: format!("native/{}", proof.kernel),
                    op: proof.op,
                    dtype: proof.dtype,
                    outcome: proof.outcome,
                    day: day.to_owned(),
                })
                .collect(),
            Record::List { coverage } => coverage
                .into_iter()
                .flat_map(|covered| {
                    let contender = bare(&covered.contender);
                    covered.states.into_iter().map(move |state| Cell {
                        op: covered.op.clone(),
                        contender: contender.clone(),
                        dtype: state.dtype,
                        outcome: state.state,
                        day: day.to_owned(),
                    })
                })
                .collect(),
        };
        let mut all: Vec<Cell> = Vec::new();
        for cell in cells.into_iter().filter(|cell| rank(&cell.outcome).is_some()) {
            match all.iter_mut().find(|other| is_same(other, &cell)) {
                // On several paths and cases the worst counts.
                Some(other) if rank(&other.outcome) < rank(&cell.outcome) => *other = cell,
                Some(_) => {}
                None => all.push(cell),
            }
        }
        all
    }
}

fn rank(outcome: &str) -> Option<usize> {
    JUDGED.iter().position(|known| *known == outcome)
}

fn is_same(a: &Cell, b: &Cell) -> bool {
    (&a.op, &a.contender, &a.dtype) == (&b.op, &b.contender, &b.dtype)
}

/// The table of all records; a later one replaces what an earlier one said.
pub(super) fn table(root: &Path, files: &[&str]) -> Result<String, Failure> {
    let mut cells = Vec::new();
    for file in files {
        let failed = |error: &dyn std::fmt::Display| format!("{file}: {error}");
        let text = std::fs::read_to_string(root.join("records").join(file))
            .map_err(|error| failed(&error))?;
        let record: Record = serde_json::from_str(&text).map_err(|error| failed(&error))?;
        // A folder is named by its day and its machine.
        let day = file.get(.."2026-11-15".len()).unwrap_or_default();
        replace(&mut cells, record.cells(day));
    }
    Ok(rendered(&cells))
}

fn replace(cells: &mut Vec<Cell>, newer: Vec<Cell>) {
    for cell in newer {
        match cells.iter_mut().find(|old| is_same(old, &cell)) {
            Some(old) => *old = cell,
            None => cells.push(cell),
        }
    }
}

fn rendered(cells: &[Cell]) -> String {
    let mut ops: Vec<&str> = cells.iter().map(|cell| cell.op.as_str()).collect();
    ops.sort_unstable();
    ops.dedup();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for op in ops {
        // Contenders of which the same is said share a row; ours stand before the peers.
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        let mut contenders: Vec<&str> = Vec::new();
        for cell in cells.iter().filter(|cell| cell.op == op) {
            if !contenders.contains(&cell.contender.as_str()) {
                contenders.push(&cell.contender);
            }
        }
        contenders.sort_by_key(|contender| !contender.starts_with("native/"));
        for contender in contenders {
            let said = said(cells, op, contender);
            let name = format!("`{contender}`");
            let is_ours = contender.starts_with("native/");
            let is_alike = |group: &&mut (String, Vec<String>)| {
                group.1 == said && group.0.starts_with("`native/") == is_ours
            };
            match groups.iter_mut().find(is_alike) {
                Some((names, _)) => *names += &format!(", {name}"),
                None => groups.push((name, said)),
            }
        }
        let row = |(names, said)| [vec![format!("`{op}`"), names], said].concat();
        rows.extend(groups.into_iter().map(row));
    }
    let count = |outcome: &str| cells.iter().filter(|cell| cell.outcome == outcome).count();
    let table = markdown(&["op", "contenders", "proven", "unsupported", "refused"], &rows);
    format!(
        "{table}\nOf {} combinations of op, contender and element type {} are proven, {} \
         unsupported, {} wrong and {} crashed.\n",
        cells.len(),
        count(PROVEN),
        count(UNSUPPORTED),
        count("WRONG"),
        count("CRASHED"),
    )
}

/// Element types in which a contender is proven, unsupported, and refused; the last with the day.
fn said(cells: &[Cell], op: &str, contender: &str) -> Vec<String> {
    let of_contender = |cell: &&Cell| cell.op == op && cell.contender == contender;
    let mut cells: Vec<&Cell> = cells.iter().filter(of_contender).collect();
    cells.sort_by_key(|cell| DTYPES.iter().position(|known| *known == cell.dtype));
    let of = |outcome: &str| {
        let meant = cells.iter().filter(|cell| cell.outcome == outcome);
        meant.map(|cell| cell.dtype.as_str()).collect::<Vec<_>>().join(" ")
    };
    let refused = cells.iter().filter(|cell| ![PROVEN, UNSUPPORTED].contains(&&*cell.outcome));
    let refused: Vec<String> = refused
        .map(|cell| format!("{} {} ({})", cell.outcome.to_lowercase(), cell.dtype, cell.day))
        .collect();
    [of(PROVEN), of(UNSUPPORTED), refused.join(", ")]
        .map(|text| if text.is_empty() { NOTHING.to_owned() } else { text })
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(json: &str) -> Vec<Cell> {
        serde_json::from_str::<Record>(json).expect("a record").cells("2026-11-15")
    }

    #[test]
    fn later_records_replace_earlier_ones_and_the_worst_path_counts() {
        let mut all = cells(
            r#"{"results": [
                {"op": "add", "kernel": "simd", "dtype": "f32", "outcome": "PROVEN"},
                {"op": "add", "kernel": "simd", "dtype": "f32", "outcome": "WRONG"},
                {"op": "add", "kernel": "scalar", "dtype": "f32", "outcome": "PROVEN"}]}"#,
        );
        replace(
            &mut all,
            cells(
                r#"{"coverage": [
                    {"op": "add", "contender": "native/simd@avx2",
                     "states": [{"dtype": "f32", "state": "PROVEN"},
                                {"dtype": "bf16", "state": "NOT_YET"}]},
                    {"op": "add", "contender": "peer/mkl",
                     "states": [{"dtype": "f32", "state": "UNSUPPORTED"}]}]}"#,
            ),
        );
        let text = rendered(&all);
        assert!(
            text.contains("| `add` | `native/simd`, `native/scalar` | f32 | – | – |"),
            "{text}"
        );
        assert!(text.contains("| `add` | `peer/mkl` | – | f32 | – |"), "{text}");
        assert!(text.contains("Of 3 combinations"), "{text}");
    }

    #[test]
    fn a_race_proves_a_contender_and_its_time_says_nothing_here() {
        let row = |contender: &str, outcome: &str| {
            format!(
                r#"{{"case": "add:f32[d=4]", "operation": "add", "dtype": "f32", "threads": 1,
                    "contender": "{contender}", "outcome": "{outcome}"}}"#
            )
        };
        let rows = [
            row("peer/mkl", "PROVEN"),
            row("peer/blis", "CRASHED"),
            row("peer/jax", "MISTRUSTED"),
            row("peer/ggml", "UNSUPPORTED"),
        ];
        let said = cells(&format!("{{\"records\": [{}]}}", rows.join(",")));
        let outcomes: Vec<&str> = said.iter().map(|cell| cell.outcome.as_str()).collect();
        assert_eq!(outcomes, ["PROVEN", "CRASHED"]);
        let text = rendered(&said);
        assert!(
            text.contains("| `add` | `peer/blis` | – | – | crashed f32 (2026-11-15) |"),
            "{text}"
        );
    }
}
