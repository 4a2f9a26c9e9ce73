//! Heap allocations of one call.

use super::{Better, Metric};
use proofmark_schema::Family;

pub(super) const METRIC: Metric = Metric {
    name: "allocations",
    unit: "",
    better: Better::Lower,
    meaning: "heap allocations of one call",
    // Only what goes through Rust's allocator is counted: a library has its own.
    formula: |record| match record.contender.family {
        Family::Peer => None,
        _ => Some(record.judged.performance()?.allocations_per_call),
    },
};
