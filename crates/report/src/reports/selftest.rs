//! The report of the gate's own proof: wrong kernels are refused, right ones are not, and other
//! gates are compared.

use crate::document::{Cell, Column, Document, Emphasis};
use crate::plain::percent;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;

/// What another project's rule made of the same outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OtherGateCount {
    /// Results of mutants it refused.
    pub caught: usize,
    /// Results of mutants it was shown.
    pub of: usize,
    /// Results of right kernels it refused.
    pub correct_refused: usize,
}

/// The self-test of one op.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SelftestRow {
    /// The op; `total` for the sum.
    pub op: String,
    /// Wrong kernels tried.
    pub mutants: usize,
    /// Wrong kernels refused on every element type and seed.
    pub killed: usize,
    /// Their results: each mutant on each of its element types with each seed.
    pub results: usize,
    /// Results refused.
    pub results_killed: usize,
    /// Results of right kernels: each on each element type with each seed.
    pub correct: usize,
    /// Right kernels refused, which must be none.
    pub correct_refused: usize,
    /// Other projects' rules by name.
    pub other_gates: BTreeMap<String, OtherGateCount>,
    /// Wrong kernels that were not refused, with what is wrong with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<String>,
    /// Right kernels that were refused, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrongly_refused: Vec<String>,
}

impl SelftestRow {
    /// The sum of rows.
    pub fn total(rows: &[SelftestRow]) -> SelftestRow {
        let mut total = SelftestRow { op: "total".to_owned(), ..SelftestRow::default() };
        for row in rows {
            total.mutants += row.mutants;
            total.killed += row.killed;
            total.results += row.results;
            total.results_killed += row.results_killed;
            total.correct += row.correct;
            total.correct_refused += row.correct_refused;
            for (name, count) in &row.other_gates {
                let sum = total.other_gates.entry(name.clone()).or_default();
                sum.caught += count.caught;
                sum.of += count.of;
                sum.correct_refused += count.correct_refused;
            }
            total.survivors.extend(row.survivors.iter().cloned());
            total.wrongly_refused.extend(row.wrongly_refused.iter().cloned());
        }
        total
    }
}

const COLUMNS: [Column; 6] = [
    Column::left("op", 0),
    Column::left("gate", 0),
    Column::right("wrong results", 1),
    Column::right("refused", 1),
    Column::right("share", 0),
    Column::left("right kernels refused", 0),
];

/// The document of a self-test.
pub fn selftest(rows: &[SelftestRow]) -> Document {
    let total = SelftestRow::total(rows);
    let mut document =
        Document::new("Self-test of the gate", json!({ "ops": rows, "total": total }), "ops");
    let shown = rows.iter().chain((rows.len() > 1).then_some(&total));
    document.table("", &COLUMNS, shown.flat_map(lines).collect());
    document.note(
        "other gates are the published acceptance rules of other projects, on the same outputs",
    );
    for survivor in &total.survivors {
        document.text(format!("not refused: {survivor}"));
    }
    for refused in &total.wrongly_refused {
        document.text(format!("wrongly refused: {refused}"));
    }
    let passed = total.mutants > 0 && total.killed == total.mutants && total.correct_refused == 0;
    document.text(format!(
        "{}: {} of {} wrong kernels refused, {} of {} right ones",
        if passed { "passed" } else { "FAILED" },
        total.killed,
        total.mutants,
        total.correct_refused,
        total.correct
    ));
    document
}

/// Our gate's line, then one for each other gate.
fn lines(row: &SelftestRow) -> Vec<Vec<Cell>> {
    let (caught, of) = (row.results_killed, row.results);
    let own = line(&row.op, "proofmark", caught, of, row.correct_refused, row.correct);
    let others = row.other_gates.iter().map(|(name, count)| {
        line("", name, count.caught, count.of, count.correct_refused, row.correct)
    });
    std::iter::once(own).chain(others).collect()
}

fn line(
    op: &str,
    gate: &str,
    caught: usize,
    of: usize,
    correct_refused: usize,
    correct: usize,
) -> Vec<Cell> {
    let good = if caught == of { Emphasis::Good } else { Emphasis::Bad };
    let share = match of {
        0 => Cell::nothing(),
        _ => Cell::with(percent(100.0 * caught as f64 / of as f64), good),
    };
    vec![
        Cell::plain(op),
        Cell::plain(gate),
        Cell::plain(of.to_string()),
        Cell::plain(caught.to_string()),
        share,
        Cell::plain(format!("{correct_refused} of {correct}")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};

    fn row(op: &str, killed: usize) -> SelftestRow {
        let count = OtherGateCount { caught: 3, of: 10, correct_refused: 1 };
        SelftestRow {
            op: op.to_owned(),
            mutants: 10,
            killed,
            results: 10,
            results_killed: killed,
            correct: 4,
            other_gates: BTreeMap::from([("allclose_1e-2".to_owned(), count)]),
            ..SelftestRow::default()
        }
    }

    #[test]
    fn data_has_exactly_the_agreed_names() {
        let expected = json!({
            "ops": [{"op": "matmul", "mutants": 10, "killed": 10, "results": 10,
                "results_killed": 10, "correct": 4,
                "correct_refused": 0,
                "other_gates": {"allclose_1e-2": {"caught": 3, "of": 10, "correct_refused": 1}}}],
            "total": {"op": "total", "mutants": 10, "killed": 10, "results": 10,
                "results_killed": 10, "correct": 4,
                "correct_refused": 0,
                "other_gates": {"allclose_1e-2": {"caught": 3, "of": 10, "correct_refused": 1}}},
        });
        assert_eq!(selftest(&[row("matmul", 10)]).data, expected);
    }

    #[test]
    fn totals_add_up_and_a_survivor_fails_the_test() {
        let total = SelftestRow::total(&[row("a", 10), row("b", 9)]);
        assert_eq!((total.mutants, total.killed), (20, 19));
        assert_eq!(total.other_gates["allclose_1e-2"].caught, 6);
        let render = find("term").unwrap().render;
        let text = render(&selftest(&[row("a", 10), row("b", 9)]), &Style::default());
        assert!(
            text.contains("FAILED: 19 of 20 wrong kernels refused, 0 of 8 right ones"),
            "{text}"
        );
        let text = render(&selftest(&[row("a", 10)]), &Style::default());
        assert!(text.contains("passed: 10 of 10"), "{text}");
        assert!(text.contains("30 %"), "{text}");
        let text = render(&selftest(&[]), &Style::default());
        assert!(text.contains("FAILED"), "nothing tried is nothing passed: {text}");
    }
}
