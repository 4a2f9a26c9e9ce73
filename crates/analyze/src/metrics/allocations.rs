//! Heap allocations of one call.

use super::{Better, Metric};
use proofmark_schema::{Family, Isolation};

pub(super) const METRIC: Metric = Metric {
    name: "allocations",
    unit: "",
    better: Better::Lower,
    meaning: "heap allocations of one call",
    // Only what goes through Rust's allocator is counted: a library has its own.
    formula: |record| match record.contender.family {
        Family::Peer => None,
        // Only the worker can count them, and at this level nothing that it reports is trusted.
        _ if record.isolation == Isolation::T3 => None,
        _ => Some(record.judged.performance()?.allocations_per_call),
    },
};
