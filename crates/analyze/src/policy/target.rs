//! What a project wants to reach, held against an interval and never against an estimate alone.

use super::{Row, names};
use crate::{METRICS, Metric, is_match};
use proofmark_schema::quantity::{Interval, three_digits};
use proofmark_schema::record::{Judged, Record};
use proofmark_schema::{Case, ContenderId};
use std::fmt;

/// The metric of a target that is about a ratio of times: to the base, or to another contender.
pub const RATIO: &str = "ratio";

/// A target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// Pattern of the ops it is about.
    pub op: String,
    /// Pattern of the cases.
    pub case: String,
    /// Pattern of the contenders.
    pub contender: String,
    /// One of [`METRICS`], or [`RATIO`].
    pub metric: String,
    /// For ratios: the contender that is divided by; the base where there is none.
    pub to: Option<ContenderId>,
    /// The least it must be.
    pub min: Option<f64>,
    /// The most it may be.
    pub max: Option<f64>,
    /// The target in words.
    pub says: Option<String>,
    /// Its line in the file, for messages.
    pub line: usize,
}

/// Where a target stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetWord {
    /// The whole interval is where it should be.
    Met,
    /// None of it is.
    Missed,
    /// The interval crosses the border.
    Undecided,
    /// There is no number.
    Unmeasured,
}

impl TargetWord {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            TargetWord::Met => "met",
            TargetWord::Missed => "MISSED",
            TargetWord::Undecided => "UNDECIDED",
            TargetWord::Unmeasured => "not measured",
        }
    }
}

impl Target {
    /// Whether it is about this contender on this case.
    pub fn is_about(&self, case: &Case, contender: &ContenderId) -> bool {
        is_match(&self.op, &case.op)
            && is_match(&self.case, &case.to_string())
            && names(std::slice::from_ref(&self.contender), contender)
    }

    /// The interval that a row gives for it; none where the ratio to another contender is meant.
    pub fn interval(&self, row: &Row<'_>) -> Option<Interval> {
        match (self.metric == RATIO, &self.to) {
            (true, Some(_)) => None,
            (true, None) => row.ratio(),
            (false, _) => measured(&self.metric, &row.races.last()?[1]),
        }
    }

    /// The word for an interval.
    pub fn word(&self, interval: Option<&Interval>) -> TargetWord {
        let Some(Interval { low, high, .. }) = interval else { return TargetWord::Unmeasured };
        let is_met =
            self.min.is_none_or(|min| *low >= min) && self.max.is_none_or(|max| *high <= max);
        let is_missed =
            self.min.is_some_and(|min| *high < min) || self.max.is_some_and(|max| *low > max);
        match (is_met, is_missed) {
            (true, _) => TargetWord::Met,
            (false, true) => TargetWord::Missed,
            (false, false) => TargetWord::Undecided,
        }
    }

    /// Its metric's unit.
    pub fn unit(&self) -> &'static str {
        find(&self.metric).map_or("×", |metric| metric.unit)
    }

    /// The border in words: `at least 80 %`.
    pub fn border(&self) -> String {
        let unit = if self.unit().is_empty() { String::new() } else { format!(" {}", self.unit()) };
        let side = |word: &str, value: Option<f64>| {
            value.map(|value| format!("{word} {}{unit}", three_digits(value)))
        };
        let sides = [side("at least", self.min), side("at most", self.max)];
        sides.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to = self.to.as_ref().map_or_else(String::new, |to| format!(" to {to}"));
        write!(f, "{}{to} {}", self.metric, self.border())
    }
}

fn find(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// A metric of a record with its interval; counts and memory are as they were counted.
///
/// Rates follow from the time, so that their borders are those of the time's interval.
fn measured(name: &str, record: &Record) -> Option<Interval> {
    let performance = record.judged.performance()?;
    let metric = find(name)?;
    let at = |time: f64, ratio: Option<f64>| {
        let mut record = record.clone();
        if let Judged::Proven { performance: Some(performance), .. } = &mut record.judged {
            performance.wall_ns.estimate = time;
            if let (Some(comparison), Some(ratio)) = (&mut performance.comparison, ratio) {
                comparison.ratio.estimate = ratio;
            }
        }
        metric.of(&record)
    };
    let wall = performance.wall_ns;
    let ratio = performance.comparison.as_ref().map(|comparison| comparison.ratio);
    let ends = [
        at(wall.low, ratio.map(|ratio| ratio.low))?,
        at(wall.high, ratio.map(|ratio| ratio.high))?,
    ];
    Some(Interval {
        estimate: metric.of(record)?,
        low: ends[0].min(ends[1]),
        high: ends[0].max(ends[1]),
        confidence: wall.confidence,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{example, refused};

    fn target(metric: &str, min: Option<f64>, max: Option<f64>) -> Target {
        let star = || "*".to_owned();
        let (op, case, contender) = (star(), star(), star());
        Target { op, case, contender, metric: metric.to_owned(), min, max, ..Target::default() }
    }

    #[test]
    fn a_target_is_met_or_missed_by_its_whole_interval() {
        // 20 GFLOP/s ±1 %.
        let gflops = measured("gflops", &example()).unwrap();
        assert!(gflops.low < 19.9 && gflops.high > 20.1, "{gflops:?}");
        for (min, max, word) in [
            (Some(19.0), None, TargetWord::Met),
            (Some(21.0), None, TargetWord::Missed),
            (Some(20.0), None, TargetWord::Undecided),
            (Some(19.0), Some(21.0), TargetWord::Met),
            (Some(1.0), Some(20.0), TargetWord::Undecided),
            (None, Some(10.0), TargetWord::Missed),
        ] {
            assert_eq!(target("gflops", min, max).word(Some(&gflops)), word, "{min:?} {max:?}");
        }
        assert_eq!(target("gflops", None, None).word(None), TargetWord::Unmeasured);
    }

    #[test]
    fn every_metric_of_a_measured_record_has_an_interval_around_it() {
        for metric in METRICS {
            let Interval { estimate, low, high, .. } = measured(metric.name, &example()).unwrap();
            assert!(low <= estimate && estimate <= high, "{}: {low} {high}", metric.name);
        }
        assert_eq!(measured("gflops", &refused(proofmark_schema::Outcome::Wrong)), None);
        assert_eq!(measured("nonsense", &example()), None);
        let speedup = measured("speedup", &example()).unwrap();
        assert!((speedup.low - 1.0 / 4.1).abs() < 1e-12, "{speedup:?}");
    }

    #[test]
    fn a_target_says_what_it_wants() {
        let mut wanted = target(RATIO, None, Some(0.5));
        wanted.to = Some("native/scalar".parse().unwrap());
        assert_eq!(wanted.to_string(), "ratio to native/scalar at most 0.500 ×");
        assert_eq!(target("efficiency", Some(80.0), None).border(), "at least 80.0 %");
        let who: ContenderId = "native/simd@avx2".parse().unwrap();
        wanted.op = "add".to_owned();
        wanted.contender = "native/simd".to_owned();
        assert!(wanted.is_about(&"add:f32[d=4]".parse().unwrap(), &who));
        assert!(!wanted.is_about(&"mul:f32[d=4]".parse().unwrap(), &who));
    }
}
