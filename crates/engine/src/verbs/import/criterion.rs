//! Criterion's folders: the median of each `estimates.json`, named by the `benchmark.json` beside
//! it.

use super::{ImportedRow, Importer, clean};
use crate::bounded::read_text;
use proofmark_schema::quantity::Interval;
use serde_json::Value;
use std::fs::File;
use std::path::Path;

pub(super) const IMPORTER: Importer = Importer {
    name: "criterion",
    summary: "criterion's folder (target/criterion) or one estimates.json",
    looks_like: |text| parse(text).is_some_and(|value| value["median"]["point_estimate"].is_f64()),
    read: |text| {
        let value = parse(text).ok_or("it is no JSON")?;
        Ok(row("estimates", &value, 0).into_iter().collect())
    },
};

/// Folders below one another that are followed.
const DEEPEST: usize = 12;
/// Longest file that is read; a sample of a million iterations has some 16 MiB.
const LONGEST_MIB: u64 = 16;

/// How much of a folder is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Folders in all, with benchmarks or without.
    pub(super) folders: usize,
    /// Bytes of all files together.
    pub(super) bytes: u64,
}

/// A thousand times what a project has.
pub(super) const LIMITS: Limits = Limits { folders: 100_000, bytes: 1 << 30 };

/// Every benchmark below a folder, sorted by path; `change` holds no times.
pub(super) fn read_folder(folder: &Path, left: Limits) -> Result<Vec<ImportedRow>, String> {
    let mut walk = Walk { rows: Vec::new(), left, limits: left };
    walk.folder(folder, DEEPEST)?;
    Ok(walk.rows)
}

/// What was read so far, and how much more may be.
struct Walk {
    rows: Vec<ImportedRow>,
    left: Limits,
    limits: Limits,
}

/// What to do about a folder that is beyond a limit.
const SMALLER: &str = "give the folder of fewer benchmarks";

impl Walk {
    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), String> {
        let unread = |error: std::io::Error| format!("{}: {error}", folder.display());
        let most = self.limits.folders;
        let too_many = || format!("it has more than {most} folders: {SMALLER}");
        self.left.folders = self.left.folders.checked_sub(1).ok_or_else(too_many)?;
        let estimates = folder.join("estimates.json");
        if estimates.is_file() && folder.file_name().is_none_or(|name| name != "change") {
            let row = self.one(folder)?;
            self.rows.extend(row);
        }
        let mut below = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                below.push(entry.path());
            }
            if below.len() > self.left.folders {
                return Err(too_many());
            }
        }
        below.sort();
        for folder in below {
            let deeper = depth.checked_sub(1).ok_or_else(|| {
                format!("folders lie more than {DEEPEST} deep in it: give `target/criterion`")
            })?;
            self.folder(&folder, deeper)?;
        }
        Ok(())
    }

    /// A file of a benchmark; `None` if there is no such plain file.
    fn file(&mut self, path: &Path) -> Result<Option<Value>, String> {
        // A pipe would block.
        if !path.is_file() {
            return Ok(None);
        }
        let unread = |error: std::io::Error| format!("{}: {error}", path.display());
        let file = File::open(path).map_err(unread)?;
        let text = read_text(file, LONGEST_MIB).map_err(unread)?;
        let bytes = text.len() as u64;
        let most = self.limits.bytes;
        let too_much = || format!("its files have more than {most} bytes: {SMALLER}");
        self.left.bytes = self.left.bytes.checked_sub(bytes).ok_or_else(too_much)?;
        Ok(parse(&text))
    }

    fn one(&mut self, folder: &Path) -> Result<Option<ImportedRow>, String> {
        let mut read = |name: &str| self.file(&folder.join(name));
        let estimates = read("estimates.json")?;
        let no_json = || format!("{} is no JSON", folder.join("estimates.json").display());
        let estimates = estimates.ok_or_else(no_json)?;
        let benchmark = read("benchmark.json")?;
        let sample = read("sample.json")?;
        let values = sample.and_then(|sample| Some(sample["times"].as_array()?.len())).unwrap_or(0);
        let baseline = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let id = benchmark.and_then(|value| Some(value["full_id"].as_str()?.to_owned()));
        let name = match (id, baseline.as_str()) {
            (Some(id), "new") => id,
            (Some(id), baseline) => format!("{id} ({baseline})"),
            (None, _) => folder.display().to_string(),
        };
        Ok(row(&name, &estimates, values))
    }
}

fn row(name: &str, estimates: &Value, values: usize) -> Option<ImportedRow> {
    let median = &estimates["median"];
    let bounds = &median["confidence_interval"];
    let time = Interval {
        estimate: median["point_estimate"].as_f64()?,
        low: bounds["lower_bound"].as_f64()?,
        high: bounds["upper_bound"].as_f64()?,
        confidence: bounds["confidence_level"].as_f64().unwrap_or(0.0),
    };
    let source = "criterion's median".to_owned();
    Some(ImportedRow { name: clean(name), time, values, source })
}

fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}
