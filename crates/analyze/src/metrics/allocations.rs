//! Heap allocations of one call.

use super::{Better, Metric};

pub(super) const METRIC: Metric = Metric {
    name: "allocations",
    unit: "",
    better: Better::Lower,
    meaning: "heap allocations of one call",
    formula: |record| Some(record.judged.performance()?.allocations_per_call),
};
