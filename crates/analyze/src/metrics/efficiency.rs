//! How near a call comes to the least time that the machine's limits allow.

use super::{Better, Metric, call_ns};

/// Not clamped: a value above 100 says that the probed limit, the stated work or the measured
/// time is wrong, which must be seen.
pub(super) const METRIC: Metric = Metric {
    name: "efficiency",
    unit: "%",
    better: Better::Higher,
    meaning: "least time that the probed limits allow over measured time",
    formula: |record| {
        let bound = record.judged.performance()?.limits?.bound_ns;
        (bound > 0.0).then_some(())?;
        Some(100.0 * bound / call_ns(record)?)
    },
};
