//! Calls a second.

use super::{Better, Metric, call_ns};

pub(super) const METRIC: Metric = Metric {
    name: "inference_speed",
    unit: "calls/s",
    better: Better::Higher,
    meaning: "calls a second: 1000 / time_ms",
    formula: |record| Some(1e9 / call_ns(record)?),
};
