//! Hyperfine's JSON: whole runs of commands, in seconds.

use super::{ImportedRow, Importer, clean, median_row};
use proofmark_schema::quantity::Interval;
use serde_json::Value;

pub(super) const IMPORTER: Importer = Importer {
    name: "hyperfine",
    summary: "hyperfine --export-json",
    looks_like: |text| {
        serde_json::from_str(text)
            .is_ok_and(|value: Value| value["results"][0]["command"].is_string())
    },
    read,
};

fn read(text: &str) -> Result<Vec<ImportedRow>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let results = value["results"].as_array().ok_or("it has no `results`")?;
    Ok(results.iter().filter_map(row).collect())
}

fn row(result: &Value) -> Option<ImportedRow> {
    let mut name = result["command"].as_str()?.to_owned();
    if let Some(parameters) = result["parameters"].as_object() {
        let words = parameters.iter().map(|(key, value)| match value.as_str() {
            Some(text) => format!(" {key}={text}"),
            None => format!(" {key}={value}"),
        });
        name.extend(words);
    }
    let seconds = |key: &str| Some(result[key].as_f64()? * 1e9);
    if let Some(times) = result["times"].as_array() {
        let values: Vec<f64> =
            times.iter().filter_map(Value::as_f64).map(|value| value * 1e9).collect();
        return median_row(clean(&name), &values, "runs");
    }
    let (low, high) = (seconds("min")?, seconds("max")?);
    let time = Interval { estimate: seconds("median")?, low, high, confidence: 0.0 };
    let source = "its median and range".to_owned();
    Some(ImportedRow { name: clean(&name), time, values: 0, source })
}
