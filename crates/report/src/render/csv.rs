//! CSV after RFC 4180: the lines of a document as rows, safe to open in a spreadsheet.

use super::{Renderer, Style};
use crate::Document;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

pub(crate) const RENDERER: Renderer =
    Renderer { name: "csv", summary: "one row a record, for spreadsheets", render };

/// Columns that come first, because people look for them; the rest follows by name.
const FIRST: [&str; 12] = [
    "run",
    "operation",
    "implementation",
    "dtype",
    "threads",
    "case",
    "outcome",
    "time_ms",
    "time_ms_low",
    "time_ms_high",
    "ratio",
    "verdict",
];
/// Fields that only refused records have. Their columns are always there, so that the header of
/// records never changes.
const OF_REFUSED: [&str; 2] = ["reason", "repro"];

fn render(document: &Document, _style: &Style) -> String {
    let (header, rows) = table(document);
    let mut out = line(header.iter().map(|name| text(name)));
    for row in &rows {
        out += &line(header.iter().map(|name| row.get(name).map(field).unwrap_or_default()));
    }
    out
}

/// Column names, those that people look for first, and the rows.
pub(crate) fn table(document: &Document) -> (Vec<String>, Vec<Map<String, Value>>) {
    let rows: Vec<Map<String, Value>> = match document.data.get(document.lines) {
        Some(Value::Array(lines)) => lines.iter().map(flattened).collect(),
        _ => vec![flattened(&document.data)],
    };
    let mut names: BTreeSet<&str> =
        rows.iter().flat_map(|row| row.keys().map(String::as_str)).collect();
    if document.lines == "records" {
        names.extend(OF_REFUSED);
    }
    let first = FIRST.into_iter().filter(|name| names.contains(name));
    let rest = names.iter().copied().filter(|name| !FIRST.contains(name));
    let header = first.chain(rest).map(str::to_owned).collect();
    (header, rows)
}

/// An object without nesting: `{"a": {"b": 1}}` has one field `a.b`.
fn flattened(value: &Value) -> Map<String, Value> {
    fn put(flat: &mut Map<String, Value>, name: &str, value: &Value) {
        match value {
            Value::Object(members) => {
                for (member, value) in members {
                    let name = if name.is_empty() { member } else { &format!("{name}.{member}") };
                    put(flat, name, value);
                }
            }
            value => drop(flat.insert(name.to_owned(), value.clone())),
        }
    }
    let mut flat = Map::new();
    put(&mut flat, "", value);
    flat
}

/// A line of values in the order given, for tables whose columns have an order of their own.
pub fn csv_line(values: &[Value]) -> String {
    line(values.iter().map(field))
}

fn line(fields: impl Iterator<Item = String>) -> String {
    fields.collect::<Vec<_>>().join(",") + "\r\n"
}

fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(words) => text(words),
        Value::Array(values) if values.is_empty() => String::new(),
        Value::Array(_) | Value::Object(_) => text(&value.to_string()),
        value => value.to_string(),
    }
}

/// A text without characters that act on a terminal. An apostrophe precedes a text that a
/// spreadsheet would take for a formula.
fn text(words: &str) -> String {
    let guard = if words.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    let is_kept = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let words: String = guard.chars().chain(words.chars().filter(is_kept)).collect();
    if words.contains(['"', ',', '\n']) {
        format!("\"{}\"", words.replace('"', "\"\""))
    } else {
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{compared, refused};
    use crate::reports;
    use serde_json::json;

    fn csv(data: Value, lines: &'static str) -> String {
        render(&Document::new("t", data, lines), &Style::default())
    }

    #[test]
    fn quotes_commas_breaks_and_formulas_are_made_harmless_and_numbers_stay() {
        let rows = json!({"rows": [
            {"a": "=1+1\u{1b}", "b": -2.5, "c": "x,\"y\"\nz"},
            {"a": "@SUM(A1)", "b": null, "c": [1, 2]},
        ]});
        let want = "a,b,c\r\n'=1+1,-2.5,\"x,\"\"y\"\"\nz\"\r\n'@SUM(A1),,\"[1,2]\"\r\n";
        assert_eq!(csv(rows, "rows"), want);
    }

    #[test]
    fn one_object_is_one_row_without_nesting() {
        assert_eq!(csv(json!({"m": {"cpu": "A", "n": 2}}), ""), "m.cpu,m.n\r\nA,2\r\n");
    }

    #[test]
    fn the_header_of_records_does_not_depend_on_what_they_say() {
        let header = |records: &[_]| {
            let document = reports::bench(records, &[], &[]);
            render(&document, &Style::default()).lines().next().unwrap().to_owned()
        };
        assert_eq!(header(&[compared()]), header(&[refused()]));
        assert!(header(&[compared()]).starts_with("run,operation,implementation,dtype,"));
    }
}
