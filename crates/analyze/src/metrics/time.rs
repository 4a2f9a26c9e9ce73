//! Time of one call.

use super::{Better, Metric, call_ns};

pub(super) const METRIC: Metric = Metric {
    name: "time_ms",
    unit: "ms",
    better: Better::Lower,
    meaning: "time of one call: median over trials of trial medians",
    formula: |record| Some(call_ns(record)? / 1e6),
};
