//! What an importer is, and the rows that it reads.

use proofmark_schema::quantity::Interval;
use proofmark_stats::{median, median_interval};
use serde::{Deserialize, Serialize};

/// One benchmark of another tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedRow {
    /// Its name there.
    pub name: String,
    /// Nanoseconds of one call.
    pub time: Interval,
    /// Values that this comes from.
    pub values: usize,
    /// What the estimate and its interval are.
    pub source: String,
}

/// A format that can be read.
pub struct Importer {
    /// Its name on the command line.
    pub name: &'static str,
    /// Which tool writes it.
    pub summary: &'static str,
    /// Whether a text is likely to be of it.
    pub(super) looks_like: fn(&str) -> bool,
    /// The rows of a text.
    pub(super) read: fn(&str) -> Result<Vec<ImportedRow>, String>,
}

const CONFIDENCE: f64 = 0.95;

/// The median of some times with its interval by order statistics; the interval is their whole
/// range if there are too few of them for one.
pub(super) fn median_row(name: String, values: &[f64], what: &str) -> Option<ImportedRow> {
    let values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let estimate = median(&values)?;
    let count = values.len();
    let (time, source) = match median_interval(&values, CONFIDENCE) {
        Some((low, high)) => (
            Interval { estimate, low, high, confidence: CONFIDENCE },
            format!("median of {count} {what}"),
        ),
        None => {
            let pick = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
            let (low, high) = (pick(f64::min)?, pick(f64::max)?);
            let interval = Interval { estimate, low, high, confidence: 0.0 };
            (interval, format!("median and range of {count} {what}"))
        }
    };
    Some(ImportedRow { name, time, values: count, source })
}

/// A name that is plain and short enough to be kept.
pub(super) fn clean(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(1024).collect()
}
