//! Least traffic over time.

use super::{Better, Metric, call_ns};

pub(super) const METRIC: Metric = Metric {
    name: "throughput_gbps",
    unit: "GB/s",
    better: Better::Higher,
    meaning: "bytes that the op must read and write at least once, over time; 10^9 bytes",
    formula: |record| Some(record.work.bytes() as f64 / call_ns(record)?),
};
