//! Arithmetic over time.

use super::{Better, Metric, call_ns};

pub(super) const METRIC: Metric = Metric {
    name: "gflops",
    unit: "GFLOP/s",
    better: Better::Higher,
    meaning: "operations by the op's definition, over time; a multiply-add counts two",
    formula: |record| Some(record.work.flops as f64 / call_ns(record)?),
};
