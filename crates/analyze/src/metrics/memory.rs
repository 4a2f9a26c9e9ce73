//! Memory a case needs at its peak.

use super::{Better, Metric};

pub(super) const METRIC: Metric = Metric {
    name: "memory_mb",
    unit: "MB",
    better: Better::Lower,
    meaning: "resident memory that the case needed at its peak, in 10^6 bytes",
    formula: |record| Some(record.judged.performance()?.peak_bytes as f64 / 1e6),
};
