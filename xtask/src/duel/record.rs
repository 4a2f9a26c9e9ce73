//! One line of `records/duel`: what a harness said of one comparison.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Failure;

/// What a harness said of arm B, which has the planted effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Verdict {
    Slower,
    Faster,
    /// Proved to be within a margin; only ours says this.
    Same,
    /// Said to be undecided; only ours says this.
    Undecided,
    /// No difference reported, which proves nothing.
    None,
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) harness: String,
    pub(super) version: String,
    pub(super) class: char,
    pub(super) kernel: String,
    pub(super) regime: String,
    pub(super) planted_percent: u64,
    pub(super) budget_seconds: f64,
    pub(super) index: u64,
    pub(super) verdict: Verdict,
    /// How much slower B was measured to be.
    pub(super) change_percent: f64,
    /// The 95 % interval of the change from a fixed number of trials, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) interval_percent: Option<[f64; 2]>,
    /// Wall seconds to the verdict.
    pub(super) seconds: f64,
    /// Seconds since 1970.
    pub(super) when: u64,
}

impl Record {
    /// What may be recorded once only.
    pub(super) fn key(&self) -> String {
        let Record { harness, kernel, regime, planted_percent, budget_seconds, index, .. } = self;
        key(&cell(harness, kernel, regime, *planted_percent, *budget_seconds), *index)
    }
}

/// The name of a cell.
pub(super) fn cell(harness: &str, kernel: &str, regime: &str, planted: u64, budget: f64) -> String {
    format!("{harness} {kernel} {regime} +{planted} {budget}s")
}

/// The name of one comparison in a cell.
pub(super) fn key(cell: &str, index: u64) -> String {
    format!("{cell} #{index}")
}

/// Where the records are.
pub(super) fn folder(root: &Path) -> PathBuf {
    root.join("records/duel")
}

/// Every record, in the order of the files' names; none if there is no folder yet.
pub(super) fn read_all(root: &Path) -> Result<Vec<Record>, Failure> {
    let Ok(entries) = fs::read_dir(folder(root)) else { return Ok(Vec::new()) };
    let paths: BTreeSet<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let mut records = Vec::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl")) {
        let text =
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        for (number, line) in text.lines().enumerate() {
            let record = serde_json::from_str(line).map_err(|error| {
                format!("{}:{}: {error}; delete the line", path.display(), number + 1)
            })?;
            records.push(record);
        }
    }
    Ok(records)
}

/// Appends one record to its harness's file.
pub(super) fn append(root: &Path, record: &Record) -> Result<(), Failure> {
    let path = folder(root).join(format!("{}.jsonl", record.harness));
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(folder(root)).map_err(failed)?;
    let mut line = serde_json::to_string(record).map_err(|error| error.to_string())?;
    line.push('\n');
    let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
    // One call, so that a kill leaves whole lines.
    file.write_all(line.as_bytes()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let line = r#"{"harness":"divan","version":"0.1.21","class":"S","kernel":"add:f32[s=1]","#
            .to_owned()
            + r#""regime":"N0","planted_percent":2,"budget_seconds":2.0,"index":3,"#
            + r#""verdict":"SLOWER","change_percent":2.1,"seconds":1.9,"when":1794718800}"#;
        let record: Record = serde_json::from_str(&line).expect("a record");
        assert_eq!(record.key(), "divan add:f32[s=1] N0 +2 2s #3");
        assert_eq!(serde_json::to_string(&record).expect("a line"), line);
    }
}
