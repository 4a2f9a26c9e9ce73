//! Bytes of heap that one call asks for.

use super::{Better, Metric};

pub(super) const METRIC: Metric = Metric {
    name: "allocated_bytes",
    unit: "B",
    better: Better::Lower,
    meaning: "bytes that the heap allocations of one call ask for",
    formula: |record| record.judged.performance()?.allocated_bytes_per_call,
};
