//! The report of the runtime's own costs: what each is, and which targets it meets.

use crate::document::{Cell, Column, Document, Emphasis};
use proofmark_schema::quantity::{Nanos, three_digits};
use serde::Serialize;
use serde_json::json;

/// A cost and its target.
#[derive(Clone, Debug, Serialize)]
pub struct CostRow {
    /// `group/part`.
    pub name: String,
    /// The median over slices.
    pub value: f64,
    /// The slice that is worse than 19 of 20.
    pub worst: f64,
    /// `ns`, `%` or `GB/s`.
    pub unit: &'static str,
    /// The target in words.
    pub target: Option<String>,
    /// Whether it is met.
    pub is_met: Option<bool>,
}

const COLUMNS: [Column; 5] = [
    Column::left("cost", 0),
    Column::right("median", 0),
    Column::right("19 of 20 within", 2),
    Column::left("target", 1),
    Column::left("verdict", 0),
];

/// The document of costs.
pub fn costs(rows: &[CostRow]) -> Document {
    let mut document = Document::new("What the runtime costs", json!({ "costs": rows }), "costs");
    document.table("", &COLUMNS, rows.iter().map(row).collect());
    let judged = rows.iter().filter_map(|row| row.is_met);
    let (met, all) = judged.fold((0, 0), |(met, all), is_met| (met + u32::from(is_met), all + 1));
    document.text(format!("{met} of {all} costs with a target meet it."));
    document.note("Measured in this process, in slices of 50 µs and more; the median of 41.");
    document
}

fn row(row: &CostRow) -> Vec<Cell> {
    let shown = |value: f64| match row.unit {
        "ns" => Nanos(value).to_string(),
        unit => format!("{} {unit}", three_digits(value)),
    };
    let verdict = match row.is_met {
        Some(true) => Cell::with("MET", Emphasis::Good),
        Some(false) => Cell::with("MISSED", Emphasis::Bad),
        None => Cell::nothing(),
    };
    vec![
        Cell::plain(&row.name),
        Cell::plain(shown(row.value)),
        Cell::plain(shown(row.worst)),
        row.target.as_ref().map_or_else(Cell::nothing, Cell::plain),
        verdict,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};

    #[test]
    fn costs_are_shown_with_their_targets_and_counted() {
        let cost = |name: &str, is_met: Option<bool>| CostRow {
            name: name.to_owned(),
            value: 1234.0,
            worst: 2000.0,
            unit: "ns",
            target: is_met.map(|_| "within 1 µs".to_owned()),
            is_met,
        };
        let document = costs(&[cost("a", Some(true)), cost("b", Some(false)), cost("c", None)]);
        let text = (find("term").unwrap().render)(
            &document,
            &Style { width: 120, colour: false, ..Style::default() },
        );
        assert!(text.contains("1.23 µs") && text.contains("MISSED"), "{text}");
        assert!(text.contains("1 of 2 costs with a target meet it."), "{text}");
        assert_eq!(document.data["costs"][1]["is_met"], false);
    }
}
