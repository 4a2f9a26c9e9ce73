//! Google Benchmark's JSON: repetitions by `run_name`, and its own median where it has one.

use super::{ImportedRow, Importer, clean, median_row};
use serde_json::Value;
use std::collections::HashMap;

pub(super) const IMPORTER: Importer = Importer {
    name: "google",
    summary: "Google Benchmark JSON",
    looks_like: |text| {
        serde_json::from_str(text).is_ok_and(|value: Value| value["benchmarks"].is_array())
    },
    read,
};

fn read(text: &str) -> Result<Vec<ImportedRow>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let lines = value["benchmarks"].as_array().ok_or("it has no `benchmarks`")?;
    let mut all: Vec<(&str, Vec<f64>, Option<&Value>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for line in lines {
        let name = line["run_name"].as_str().or(line["name"].as_str()).unwrap_or_default();
        let place = *places.entry(name).or_insert_with(|| {
            all.push((name, Vec::new(), None));
            all.len() - 1
        });
        match (line["run_type"].as_str(), line["aggregate_name"].as_str()) {
            (Some("aggregate"), Some("median")) => all[place].2 = Some(line),
            (Some("aggregate"), _) => {}
            _ => all[place].1.extend(nanoseconds(line, "real_time")),
        }
    }
    let row = |(name, values, median): (&str, Vec<f64>, Option<&Value>)| {
        let mut row = median_row(clean(name), &values, "repetitions");
        let aggregate = median.and_then(|line| nanoseconds(line, "real_time"));
        if let (Some(row), Some(estimate), Some(line)) = (&mut row, aggregate, median) {
            row.time.estimate = estimate;
            // Our own files have these bounds next to a median; others do not.
            row.time.low = line["low"].as_f64().unwrap_or(row.time.low).min(estimate);
            row.time.high = line["high"].as_f64().unwrap_or(row.time.high).max(estimate);
            row.source = format!("its median of {} repetitions", row.values);
        }
        row.or_else(|| median_row(clean(name), &[aggregate?], "aggregate"))
    };
    Ok(all.into_iter().filter_map(row).collect())
}

fn nanoseconds(line: &Value, key: &str) -> Option<f64> {
    let scale = match line["time_unit"].as_str().unwrap_or("ns") {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(line[key].as_f64()? * scale)
}
