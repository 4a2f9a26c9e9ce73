//! Tables for people and programs.

use arrow_array::RecordBatch;
use clap::ValueEnum;
use proofmark_history::{HistoryError, cells};
pub(crate) use proofmark_report::plain;
use proofmark_report::{Cell, Column, Document, Style};
use serde_json::{Map, Value, json};
use std::io::{IsTerminal, Write};

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people.
    Table,
    /// One JSON document: a list of rows.
    Json,
    /// One JSON row a line.
    Jsonl,
    /// For a spreadsheet.
    Csv,
}

/// Batches in the form asked for.
pub(crate) fn rendered(format: Format, batches: &[RecordBatch]) -> Result<String, HistoryError> {
    let names: Vec<String> = match batches.first() {
        Some(first) => first.schema().fields().iter().map(|field| field.name().clone()).collect(),
        None => Vec::new(),
    };
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let row: Result<Vec<Value>, HistoryError> =
                batch.columns().iter().map(|column| cells::value(column, row)).collect();
            rows.push(row?);
        }
    }
    let objects = || -> Value {
        let object = |row: &Vec<Value>| -> Value {
            names.iter().cloned().zip(row.iter().cloned()).collect::<Map<_, _>>().into()
        };
        rows.iter().map(object).collect()
    };
    let (name, document) = match format {
        Format::Json => ("json", Document::new("", objects(), "")),
        Format::Jsonl => ("jsonl", Document::new("", json!({ "rows": objects() }), "rows")),
        Format::Csv => ("csv", Document::new("", json!({ "rows": objects() }), "rows")),
        Format::Table => ("term", table(&names, &rows)),
    };
    let renderer = proofmark_report::find(name).expect("the report has this format");
    let style = Style { width: width(), colour: false };
    Ok((renderer.render)(&document, &style).trim_start_matches('\n').to_owned())
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
pub(crate) fn print(text: &str) -> Result<(), HistoryError> {
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
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", plain(line));
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Float64Array, StringArray};
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
    }
}
