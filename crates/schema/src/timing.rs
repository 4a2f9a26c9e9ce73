//! What the race's own proof on a machine is made of.

use crate::race::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One live comparison of a kernel with itself, or with itself and some more work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimedComparison {
    /// `S`: one thread within the second-level cache; `M`: streaming from beyond it; `T`: all
    /// processors; `L`: calls of a millisecond and more.
    pub class: char,
    /// The contender.
    pub contender: String,
    /// The case.
    pub case: String,
    /// Work that the second arm does in addition, in per cent.
    pub planted_percent: u64,
    /// Which of the comparisons of its kind.
    pub number: usize,
    /// What was decided.
    pub verdict: Verdict,
    /// The ratio at the stop.
    pub ratio: f64,
    /// Low end of its interval at the level of that look.
    pub low: f64,
    /// High end.
    pub high: f64,
    /// Low end of the 95 % interval of the trials before the first look, whose number is fixed.
    pub fixed_low: Option<f64>,
    /// High end.
    pub fixed_high: Option<f64>,
    /// Trials that were run.
    pub trials: u32,
    /// Seconds from the start to the verdict.
    pub seconds: f64,
    /// The smallest effect that such a race would find nine times in ten, in per cent.
    pub detectable_percent: Option<f64>,
    /// How much each ruler varied during the race, in per cent; see
    /// [`RulerStability`](crate::conditions::RulerStability).
    #[serde(default)]
    pub ruler_percent: BTreeMap<String, f64>,
    /// How much of the processors' time was stolen meanwhile, in per cent.
    #[serde(default)]
    pub stolen_percent: f64,
    /// Why there is no verdict, where a race could not be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl TimedComparison {
    /// The ratio that was planted.
    pub fn truth(&self) -> f64 {
        1.0 + self.planted_percent as f64 / 100.0
    }

    /// Whether the interval of fixed size holds the planted ratio, if there is one.
    pub fn is_covered(&self) -> Option<bool> {
        Some((self.fixed_low?..=self.fixed_high?).contains(&self.truth()))
    }
}

/// What slices add to the time of a call, against a loop of calls and nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopOverhead {
    /// The contender.
    pub contender: String,
    /// The case.
    pub case: String,
    /// Time of one call in the bare loop.
    pub call_ns: f64,
    /// How much longer a call in a slice takes, in per cent.
    pub percent: f64,
    /// Low end of its 95 % interval.
    pub low_percent: f64,
    /// High end.
    pub high_percent: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_covers_the_planted_ratio_or_does_not_or_is_not_there() {
        let text = r#"{"class":"S","contender":"native/simd","case":"add:f32[b=1]",
            "planted_percent":2,"number":0,"verdict":"SLOWER","ratio":1.02,"low":1.01,"high":1.03,
            "fixed_low":1.015,"fixed_high":1.025,"trials":6,"seconds":0.2,
            "detectable_percent":0.4}"#;
        let mut comparison: TimedComparison = serde_json::from_str(text).unwrap();
        assert_eq!(comparison.is_covered(), Some(true));
        comparison.planted_percent = 5;
        assert_eq!(comparison.is_covered(), Some(false));
        comparison.fixed_low = None;
        assert_eq!(comparison.is_covered(), None);
    }
}
