//! Bytes of heap that one call asks for.

use super::{Better, Metric};
use proofmark_schema::Family;

pub(super) const METRIC: Metric = Metric {
    name: "allocated_bytes",
    unit: "B",
    better: Better::Lower,
    meaning: "bytes that the heap allocations of one call ask for",
    // Only what goes through Rust's allocator is counted: a library has its own.
    formula: |record| match record.contender.family {
        Family::Peer => None,
        _ => record.judged.performance()?.allocated_bytes_per_call,
    },
};
