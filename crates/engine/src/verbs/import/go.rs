//! Go benchmark text: lines of one name are repetitions of one benchmark.

use super::{ImportedRow, Importer, clean, median_row};
use std::collections::HashMap;

pub(super) const IMPORTER: Importer =
    Importer { name: "go", summary: "Go benchmark text", looks_like, read };

fn looks_like(text: &str) -> bool {
    text.lines().any(|line| parse(line).is_some())
}

fn read(text: &str) -> Result<Vec<ImportedRow>, String> {
    let mut all: Vec<(&str, Vec<f64>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (name, ns) in text.lines().filter_map(parse) {
        let place = *places.entry(name).or_insert_with(|| {
            all.push((name, Vec::new()));
            all.len() - 1
        });
        all[place].1.push(ns);
    }
    let row = |(name, values): (&str, Vec<f64>)| median_row(clean(name), &values, "lines");
    Ok(all.into_iter().filter_map(row).collect())
}

/// `Benchmark… COUNT (VALUE UNIT)…`, where one unit is `ns/op`.
fn parse(line: &str) -> Option<(&str, f64)> {
    let mut fields = line.split_whitespace();
    let name = fields.next()?;
    let rest = name.strip_prefix("Benchmark")?;
    if rest.starts_with(char::is_lowercase) {
        return None;
    }
    fields.next()?.parse::<u64>().ok()?;
    let pairs: Vec<&str> = fields.collect();
    let time = pairs.as_chunks::<2>().0.iter().find(|[_, unit]| *unit == "ns/op")?;
    Some((name, time[0].parse().ok()?))
}
