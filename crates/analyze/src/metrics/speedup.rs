//! How many times as fast as the first arm of the race.

use super::{Better, Metric};

pub(super) const METRIC: Metric = Metric {
    name: "speedup",
    unit: "×",
    better: Better::Higher,
    meaning: "time of the race's first arm over this one's; 1 for the first arm itself",
    formula: |record| {
        let performance = record.judged.performance()?;
        match &performance.comparison {
            Some(comparison) => Some(1.0 / comparison.ratio.estimate),
            None => (performance.slices.arm == 0).then_some(1.0),
        }
    },
};
