//! What programs write: tables for people and programs, and lines of talk.

use crate::{HistoryError, cells};
use arrow_array::RecordBatch;
use clap::ValueEnum;
pub use proofmark_report::plain;
use proofmark_report::{Cell, Column, Document, Style, csv_line};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people.
    Table,
    /// One JSON document: a list of rows.
    Json,
    /// One JSON row a line.
    Jsonl,
    /// For a spreadsheet.
    Csv,
}

/// Batches in the form asked for, of which at least one is given. They are all of one schema.
///
/// # Errors
/// If a column has a type that has no text, or two columns have one name and the form is JSON.
pub fn rendered(format: Format, batches: &[RecordBatch]) -> Result<String, HistoryError> {
    let names = match batches.first() {
        Some(first) => names(first),
        None => Vec::new(),
    };
    let mut rows = Vec::new();
    for batch in batches {
        rows.extend(values(batch)?);
    }
    let (name, document) = match format {
        Format::Json => ("json", Document::new("", objects(&names, &rows)?, "")),
        Format::Jsonl => {
            ("jsonl", Document::new("", json!({ "rows": objects(&names, &rows)? }), "rows"))
        }
        Format::Csv => {
            let header = csv_line(&names.into_iter().map(Value::String).collect::<Vec<_>>());
            return Ok(header + &rows.iter().map(|row| csv_line(row)).collect::<String>());
        }
        Format::Table => ("term", table(&names, &rows)),
    };
    let renderer = proofmark_report::find(name).expect("the report has this format");
    let style = Style { width: width(), colour: false, ..Style::default() };
    Ok((renderer.render)(&document, &style).trim_start_matches('\n').to_owned())
}

/// The rows of a further batch, which follow what [`rendered`] gave for those before: a table of
/// CSV has one header.
///
/// # Errors
/// As [`rendered`].
pub fn continued(format: Format, batch: &RecordBatch) -> Result<String, HistoryError> {
    match format {
        Format::Csv => Ok(values(batch)?.iter().map(|row| csv_line(row)).collect()),
        _ => rendered(format, std::slice::from_ref(batch)),
    }
}

fn names(batch: &RecordBatch) -> Vec<String> {
    batch.schema().fields().iter().map(|field| field.name().clone()).collect()
}

fn values(batch: &RecordBatch) -> Result<Vec<Vec<Value>>, HistoryError> {
    let row = |row| batch.columns().iter().map(|column| cells::value(column, row)).collect();
    (0..batch.num_rows()).map(row).collect()
}

/// Rows as objects. Two members of one name would be one.
fn objects(names: &[String], rows: &[Vec<Value>]) -> Result<Value, HistoryError> {
    let mut seen = BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(HistoryError::Usage(format!(
            "two columns are called `{twice}`: give one another name, as in `a.{twice} as other`"
        )));
    }
    let object = |row: &Vec<Value>| -> Value {
        names.iter().cloned().zip(row.iter().cloned()).collect::<Map<_, _>>().into()
    };
    Ok(rows.iter().map(object).collect())
}

/// A document that is one table.
fn table(names: &[String], rows: &[Vec<Value>]) -> Document {
    let column = |(index, name): (usize, &String)| {
        let is_number = rows.iter().any(|row| row[index].is_number());
        let rank = rank(name);
        let column = if is_number { Column::right("", rank) } else { Column::left("", rank) };
        column.named(name.clone())
    };
    let columns: Vec<Column> = names.iter().enumerate().map(column).collect();
    let cell = |value: &Value| match value {
        Value::Null => Cell::nothing(),
        Value::String(text) => Cell::plain(text.clone()),
        other => Cell::plain(other.to_string()),
    };
    let rows = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let mut document = Document::new("", Value::Null, "");
    document.table("", &columns, rows);
    document
}

/// Which columns a narrow terminal leaves out first: those of the highest rank.
fn rank(column: &str) -> u8 {
    match column {
        "protocol" | "isolation" | "memory" | "first_time" | "code" | "against" | "flags" => 3,
        "op" | "last_run" | "last_time" | "threads" | "low" | "high" => 2,
        "environment" | "metric" | "points" | "control" | "run" => 1,
        _ => 0,
    }
}

/// Columns of the terminal. Where there is none, a table is as wide as it is.
fn width() -> usize {
    let is_terminal = std::io::stdout().is_terminal();
    let size = is_terminal.then(|| rustix::termios::tcgetwinsize(std::io::stdout()).ok()).flatten();
    size.map_or(usize::from(u16::MAX), |size| usize::from(size.ws_col))
}

/// Writes data. A reader that closes the pipe early is not an error.
///
/// # Errors
/// If the output cannot be written.
pub fn print(text: &str) -> Result<(), HistoryError> {
    let mut out = std::io::stdout().lock();
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    match out.write_all(text.as_bytes()).and_then(|()| out.write_all(newline.as_bytes())) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(HistoryError::Usage(format!("cannot write the result: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line of talk.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", plain(line));
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Float64Array, StringArray};
    use arrow_schema::{DataType, Field, Schema};
    use std::sync::Arc;

    fn batch() -> RecordBatch {
        let names = StringArray::from(vec!["=cmd()", "a,\"b\"", "\u{1b}[31mred"]);
        let numbers = Float64Array::from(vec![Some(-1.5), None, Some(2.0)]);
        let columns: [(&str, ArrayRef); 2] =
            [("name", Arc::new(names)), ("number", Arc::new(numbers))];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    #[test]
    fn every_format_says_the_same() {
        let batches = [batch()];
        let csv = rendered(Format::Csv, &batches).unwrap();
        let expected = "name,number\r\n'=cmd(),-1.5\r\n\"a,\"\"b\"\"\",\r\n[31mred,2.0\r\n";
        assert_eq!(csv, expected);
        let json = rendered(Format::Json, &batches).unwrap();
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json[0], serde_json::json!({ "name": "=cmd()", "number": -1.5 }));
        assert_eq!(rendered(Format::Jsonl, &batches).unwrap().lines().count(), 3);
        let table = rendered(Format::Table, &batches).unwrap();
        assert!(table.contains("[31mred") && !table.contains('\u{1b}'), "{table}");
        assert_eq!(rendered(Format::Json, &[]).unwrap(), "[]\n");
        let header = rendered(Format::Csv, &[batch().slice(0, 0)]).unwrap();
        assert_eq!(header.clone() + &continued(Format::Csv, &batch()).unwrap(), csv);
        assert_eq!(header, "name,number\r\n");
    }

    #[test]
    fn columns_keep_their_order_and_none_is_lost() {
        let numbers = || Arc::new(Float64Array::from(vec![1.0])) as ArrayRef;
        let fields = ["z", "run", "z"].map(|name| Field::new(name, DataType::Float64, true));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let batch = RecordBatch::try_new(schema, vec![numbers(), numbers(), numbers()]).unwrap();
        let csv = rendered(Format::Csv, std::slice::from_ref(&batch)).unwrap();
        assert_eq!(csv, "z,run,z\r\n1.0,1.0,1.0\r\n");
        let error = rendered(Format::Json, &[batch]).unwrap_err().to_string();
        assert!(error.contains("two columns are called `z`"), "{error}");
    }
}
