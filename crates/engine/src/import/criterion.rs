//! Criterion's folders: the median of each `estimates.json`, named by the `benchmark.json` beside
//! it.

use super::{ImportedRow, Importer, clean};
use proofmark_schema::quantity::Interval;
use serde_json::Value;
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
/// Benchmarks that are read.
const MOST: usize = 100_000;

/// Every benchmark below a folder, sorted by path; `change` holds no times.
pub(super) fn read_folder(folder: &Path) -> Result<Vec<ImportedRow>, String> {
    let mut rows = Vec::new();
    walk(folder, DEEPEST, &mut rows)?;
    Ok(rows)
}

fn walk(folder: &Path, depth: usize, rows: &mut Vec<ImportedRow>) -> Result<(), String> {
    let unread = |error: std::io::Error| format!("{}: {error}", folder.display());
    let estimates = folder.join("estimates.json");
    if estimates.is_file() && folder.file_name().is_none_or(|name| name != "change") {
        rows.extend(read_one(folder)?);
    }
    let entries = std::fs::read_dir(folder).map_err(unread)?;
    let mut below: Vec<_> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    below.sort();
    for folder in below {
        if depth == 0 || rows.len() >= MOST {
            return Err("it is no folder of criterion's: it is too deep or too large".to_owned());
        }
        walk(&folder, depth - 1, rows)?;
    }
    Ok(())
}

fn read_one(folder: &Path) -> Result<Option<ImportedRow>, String> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let estimates = read("estimates.json").as_deref().and_then(parse);
    let estimates = estimates.ok_or_else(|| format!("{} is no JSON", folder.display()))?;
    let benchmark = read("benchmark.json").as_deref().and_then(parse);
    let sample = read("sample.json").as_deref().and_then(parse);
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
