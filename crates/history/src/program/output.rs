//! Tables for people and programs.

use arrow_array::RecordBatch;
use clap::ValueEnum;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use proofmark_history::{HistoryError, cells};
use serde_json::Value;
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
    let object = |row: &Vec<Value>| {
        // In the order of the columns, which a map of serde_json does not keep.
        let members = names
            .iter()
            .zip(row)
            .map(|(name, value)| format!("{}:{value}", Value::String(name.clone())));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    };
    Ok(match format {
        Format::Table => table(&names, &rows),
        Format::Csv => csv(&names, &rows),
        Format::Json => format!("[{}]", rows.iter().map(object).collect::<Vec<_>>().join(",\n")),
        Format::Jsonl => rows.iter().map(|row| object(row) + "\n").collect(),
    })
}

/// The text of a cell; one that is absent is empty.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The text without characters that act on a terminal.
pub(crate) fn plain(text: &str) -> String {
    let is_hidden = |c: char| {
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{feff}')
            || matches!(c, '\u{2060}'..='\u{2069}')
    };
    text.chars().filter(|&c| !c.is_control() && !is_hidden(c)).collect()
}

fn table(names: &[String], rows: &[Vec<Value>]) -> String {
    let mut table = Table::new();
    let arrangement = match std::io::stdout().is_terminal() {
        true => ContentArrangement::Dynamic,
        false => ContentArrangement::Disabled,
    };
    table.load_style(presets::NOTHING).set_content_arrangement(arrangement);
    table.set_header(names.iter().map(|name| plain(name)));
    for row in rows {
        table.add_row(row.iter().map(|value| plain(&text(value))));
    }
    for index in 0..names.len() {
        let is_number = rows.iter().any(|row| row[index].is_number());
        if let Some(column) = table.column_mut(index).filter(|_| is_number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// CSV after RFC 4180, safe to open in a spreadsheet.
fn csv(names: &[String], rows: &[Vec<Value>]) -> String {
    let line = |cells: Vec<String>| cells.join(",") + "\r\n";
    let mut out = line(names.iter().map(|name| cell(name, false)).collect());
    for row in rows {
        out += &line(row.iter().map(|value| cell(&text(value), value.is_number())).collect());
    }
    out
}

/// A cell; a text that a spreadsheet would take for a formula gets a mark in front.
fn cell(text: &str, is_number: bool) -> String {
    let is_formula = !is_number && text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    match text.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
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
        let expected = "name,number\r\n'=cmd(),-1.5\r\n\"a,\"\"b\"\"\",\r\n\u{1b}[31mred,2.0\r\n";
        assert_eq!(csv, expected);
        let json = rendered(Format::Json, &batches).unwrap();
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json[0], serde_json::json!({ "name": "=cmd()", "number": -1.5 }));
        assert_eq!(rendered(Format::Jsonl, &batches).unwrap().lines().count(), 3);
        let table = rendered(Format::Table, &batches).unwrap();
        assert!(table.contains("[31mred") && !table.contains('\u{1b}'), "{table}");
        assert_eq!(rendered(Format::Json, &[]).unwrap(), "[]");
    }
}
