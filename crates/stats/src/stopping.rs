//! When a race may stop, and with which verdict.

use crate::power::minimum_detectable_effect;
use crate::ratio::{RatioInterval, ratio_interval, ratio_interval_at_level, ratio_p_value};
use crate::sequential::Looks;
use crate::verdict::{Decision, REPORT_MARGIN, SAME_MARGIN, decide};

/// Error rate of a whole race: at most one wrong verdict in a hundred.
pub const ALPHA: f64 = 0.01;

/// Power that the detectable effect is stated for.
const POWER: f64 = 0.9;

/// The least p-value that is reported for a race.
const LEAST_P: f64 = 1e-11;

/// The stopping rule of a race: a pure function of the trials so far, so that every verdict
/// replays from its record.
///
/// The intervals of all looks hold the true ratio together with confidence 1 − α. So a race of
/// equals is called FASTER or SLOWER with probability at most α, and one whose ratio lies outside
/// the margin is called SAME with probability at most α/2, however often it is looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopping {
    /// When to look.
    pub looks: Looks,
    /// Error rate of the whole race.
    pub alpha: f64,
    /// Effects smaller than this share are not reported as a change.
    pub report_margin: f64,
    /// Ratios that differ from 1 by less than this share are the same.
    pub same_margin: f64,
}

/// What a look at the trials so far says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Look {
    /// More trials are needed.
    Continue,
    /// The race is over.
    Stop(Stop),
}

/// How a race ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// The word.
    pub decision: Decision,
    /// The ratio at the confidence of the look; absent only with [`Reason::NoInterval`].
    pub interval: Option<RatioInterval>,
    /// Confidence of the interval.
    pub confidence: f64,
    /// Trials looked at.
    pub trials: u32,
    /// Why nothing was decided; present exactly with [`Decision::Undecided`].
    pub reason: Option<Reason>,
}

/// Why a race that used all its trials decided nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The interval is wider than the margins on both sides of 1: too much noise for the cap.
    Wide,
    /// The interval is narrow enough for SAME but reaches past a margin: the ratio lies near it.
    NearMargin,
    /// The trials carry no interval: unequal lengths, or values that are not finite.
    NoInterval,
}

/// What the trials of an ended race lead to, whether a look stopped it or its time ran out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conclusion {
    /// The word. A race that no scheduled look stopped decides nothing.
    pub decision: Decision,
    /// The ratio with its bounds; unbounded where the trials carry none.
    pub interval: RatioInterval,
    /// Confidence of the bounds.
    pub confidence: f64,
    /// Trials that gave a ratio.
    pub trials: u32,
    /// Why nothing was decided, in words; present exactly with [`Decision::Undecided`].
    pub undecided_because: Option<&'static str>,
    /// The share by which the arms would have to differ for a race to detect it nine times in ten.
    pub detectable: Option<f64>,
    /// The p-value of the whole race, over all its looks.
    pub p_value: Option<f64>,
}

impl Default for Stopping {
    /// Six looks up to 60 trials, α = 0.01, the usual margins.
    fn default() -> Stopping {
        Stopping::with_looks(Looks::short())
    }
}

impl Stopping {
    /// The usual error rate and margins on this schedule.
    pub fn with_looks(looks: Looks) -> Stopping {
        Stopping { looks, alpha: ALPHA, report_margin: REPORT_MARGIN, same_margin: SAME_MARGIN }
    }

    /// Looks at the trials so far: each trial's log effect and its own standard error.
    ///
    /// Between scheduled looks the answer is always to continue. Trials beyond the cap are not
    /// read: they give the answer of the cap.
    pub fn look(&self, effects: &[f64], within: &[f64]) -> Look {
        let count = effects.len().min(self.looks.cap() as usize);
        let trials = count as u32;
        let Some(index) = self.looks.index_of(trials) else {
            return Look::Continue;
        };
        let level = self.looks.level_at(index, self.alpha);
        let interval = level.and_then(|level| {
            ratio_interval_at_level(effects.get(..count)?, within.get(..count)?, level)
        });
        let decision = interval.map_or(Decision::Undecided, |interval| self.decide(&interval));
        if decision == Decision::Undecided && trials < self.looks.cap() {
            return Look::Continue;
        }
        let reason = (decision == Decision::Undecided).then(|| self.reason(interval.as_ref()));
        let confidence = 1.0 - level.unwrap_or(0.0);
        Look::Stop(Stop { decision, interval, confidence, trials, reason })
    }

    /// The first stop that looking after every trial would have met.
    pub fn replay(&self, effects: &[f64], within: &[f64]) -> Look {
        let seen = self.looks.at().iter().map(|&at| at as usize);
        seen.take_while(|&at| at <= effects.len())
            .map(|at| self.look(&effects[..at], within.get(..at).unwrap_or(within)))
            .find(|look| *look != Look::Continue)
            .unwrap_or(Look::Continue)
    }

    /// The least error rate at which a scheduled look so far leaves out a ratio of 1: what a race
    /// brings into a family of tests, however early it stopped ([`crate::holm`]).
    ///
    /// Margins play no part, nor does `alpha`. `None` before the first look and where no look
    /// carries an interval.
    pub fn p_value(&self, effects: &[f64], within: &[f64]) -> Option<f64> {
        let seen = self.looks.at().iter().map(|&at| at as usize);
        let p_values: Vec<Option<f64>> = seen
            .take_while(|&at| at <= effects.len())
            .map(|at| ratio_p_value(&effects[..at], within.get(..at)?))
            .collect();
        p_values.iter().flatten().next()?;
        let shown = |alpha: f64| {
            let levels = self.looks.levels(alpha).unwrap_or_default();
            let mut pairs = p_values.iter().zip(levels);
            pairs.any(|(p, level)| p.is_some_and(|p| level > 0.0 && p <= level))
        };
        // Halved on the log scale, down to the least that a look can spend.
        let (mut low, mut high) = (LEAST_P.ln(), 0.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if shown(middle.exp()) { high = middle } else { low = middle }
        }
        Some(high.exp())
    }

    /// What an ended race leads to: the same for the same trials, whenever it is asked.
    pub fn conclude(&self, effects: &[f64], within: &[f64]) -> Conclusion {
        let stop = match self.replay(effects, within) {
            Look::Stop(stop) => Some(stop),
            Look::Continue => None,
        };
        // A race cut off by its budget has an interval at the confidence of the whole race, but
        // decides nothing: it was not a scheduled look.
        let (decision, interval, confidence) = match stop {
            Some(Stop { decision, interval: Some(interval), confidence, .. }) => {
                (decision, interval, confidence)
            }
            _ => {
                let confidence = 1.0 - self.alpha;
                let none = RatioInterval {
                    ratio: 1.0,
                    low: 0.0,
                    high: f64::MAX,
                    between: f64::MAX,
                    within: f64::MAX,
                };
                let interval = ratio_interval(effects, within, confidence);
                (Decision::Undecided, interval.unwrap_or(none), confidence)
            }
        };
        let undecided_because =
            (decision == Decision::Undecided).then(|| match stop.and_then(|stop| stop.reason) {
                Some(Reason::Wide) => "the noise is too large for the trials allowed",
                Some(Reason::NearMargin) => "the ratio lies too near a margin",
                Some(Reason::NoInterval) => "too few trials gave a ratio",
                None => "the time allowed ran out",
            });
        let trials = effects.len() as u32;
        let spread = interval.between * f64::from(trials).sqrt();
        let detectable = minimum_detectable_effect(trials, spread, self.alpha, POWER);
        Conclusion {
            decision,
            interval,
            confidence,
            trials,
            undecided_because,
            detectable: detectable.map(f64::exp_m1).filter(|share| share.is_finite()),
            p_value: self.p_value(effects, within),
        }
    }

    fn decide(&self, interval: &RatioInterval) -> Decision {
        let RatioInterval { ratio, low, high, .. } = *interval;
        decide(low, high, ratio, self.report_margin, self.same_margin)
    }

    fn reason(&self, interval: Option<&RatioInterval>) -> Reason {
        match interval {
            None => Reason::NoInterval,
            Some(interval)
                if (interval.high / interval.low).ln() < 2.0 * self.same_margin.ln_1p() =>
            {
                Reason::NearMargin
            }
            Some(_) => Reason::Wide,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;
    use crate::sequential::Spending;

    fn effects(seed: u64, count: usize, effect: f64, sd: f64) -> Vec<f64> {
        let mut stream = Stream::new(seed);
        (0..count).map(|_| effect + sd * stream.normal()).collect()
    }

    fn ended(look: Look) -> Stop {
        match look {
            Look::Stop(stop) => stop,
            Look::Continue => panic!("did not stop"),
        }
    }

    #[test]
    fn decides_at_scheduled_looks_only() {
        let rule = Stopping::default();
        let values = effects(1, 60, 0.05, 0.001);
        for count in 0..=60 {
            let look = rule.look(&values[..count], &[0.0; 60][..count]);
            let scheduled = [6, 10, 16, 26, 40, 60].contains(&count);
            assert_eq!(look != Look::Continue, scheduled, "{count}");
        }
    }

    #[test]
    fn a_replay_stops_where_the_race_stopped_whatever_came_after() {
        let rule = Stopping::default();
        for seed in 0..50 {
            let values = effects(seed, 60, 0.01, 0.007);
            let live = (1..=60)
                .map(|count| rule.look(&values[..count], &vec![0.001; count]))
                .find(|look| *look != Look::Continue)
                .unwrap();
            assert_eq!(rule.replay(&values, &[0.001; 60]), live);
            let mut longer = values.clone();
            longer.push(99.0);
            assert_eq!(rule.replay(&longer, &[0.001; 61]), live);
        }
    }

    #[test]
    fn a_large_effect_stops_at_the_first_look_and_keeps_its_sign() {
        let rule = Stopping::default();
        for (effect, word) in [(0.05, Decision::Slower), (-0.05, Decision::Faster)] {
            let stop = ended(rule.replay(&effects(3, 60, effect, 0.004), &[0.001; 60]));
            assert_eq!((stop.decision, stop.trials, stop.reason), (word, 6, None));
            assert!((stop.confidence - (1.0 - 0.01 / 6.0)).abs() < 1e-15);
        }
    }

    #[test]
    fn the_cap_ends_with_the_reason_why_nothing_was_decided() {
        let rule = Stopping::default();
        let wide = ended(rule.replay(&effects(4, 60, 0.0, 0.2), &[0.0; 60]));
        assert_eq!((wide.decision, wide.reason), (Decision::Undecided, Some(Reason::Wide)));
        assert_eq!(wide.trials, 60);
        let mut near = rule.clone();
        near.report_margin = 0.05;
        let values = effects(5, 60, 0.01f64.ln_1p(), 0.004);
        let stop = ended(near.replay(&values, &[0.0; 60]));
        assert_eq!((stop.decision, stop.reason), (Decision::Undecided, Some(Reason::NearMargin)));
    }

    #[test]
    fn values_that_are_not_finite_or_missing_never_decide() {
        let rule = Stopping::default();
        let mut values = effects(6, 60, 0.05, 0.001);
        assert_eq!(rule.look(&values[..6], &[0.0; 5]), Look::Continue);
        values[0] = f64::NAN;
        let stop = ended(rule.replay(&values, &[0.0; 60]));
        assert_eq!((stop.decision, stop.reason), (Decision::Undecided, Some(Reason::NoInterval)));
        assert_eq!(stop.interval, None);
        let broken = Stopping { alpha: f64::NAN, ..Stopping::default() };
        assert_eq!(broken.look(&[0.05; 6], &[0.0; 6]), Look::Continue);
    }

    #[test]
    fn the_p_value_is_the_error_rate_at_which_the_rule_would_just_have_spoken() {
        for spending in [Spending::Bonferroni, Spending::Pocock, Spending::ObrienFleming] {
            let looks = Looks::new(vec![6, 10, 16], spending).unwrap();
            let mut rule = Stopping { report_margin: 0.0, ..Stopping::with_looks(looks) };
            rule.same_margin = 1e-9;
            let values = effects(11, 16, 0.007, 0.01);
            let p = rule.p_value(&values, &[0.0; 16]).unwrap();
            assert!((1e-5..0.5).contains(&p), "{spending:?}: {p}");
            for (alpha, word) in [(p * 1.0001, Decision::Slower), (p * 0.9999, Decision::Undecided)]
            {
                rule.alpha = alpha;
                assert_eq!(ended(rule.replay(&values, &[0.0; 16])).decision, word, "{p}");
            }
        }
        let rule = Stopping::default();
        // One look of six equal shares: six times its p-value, the whole family of looks counted.
        let values = effects(12, 6, 0.01, 0.007);
        let once = ratio_p_value(&values, &[0.0; 6]).unwrap();
        let p = rule.p_value(&values, &[0.0; 6]).unwrap();
        assert!((p / (6.0 * once) - 1.0).abs() < 1e-9, "{p} {once}");
        assert_eq!(rule.p_value(&values[..5], &[0.0; 5]), None);
        assert_eq!(rule.p_value(&[0.0; 6], &[0.0; 6]), Some(1.0));
        assert!(rule.p_value(&[0.1; 6], &[0.0; 6]).unwrap() < 2e-11);
    }

    #[test]
    fn a_look_that_may_spend_nothing_never_stops() {
        let looks = Looks::new(vec![6, 150], Spending::ObrienFleming).unwrap();
        let rule = Stopping::with_looks(looks);
        assert_eq!(rule.look(&[0.5; 6], &[0.0; 6]), Look::Continue);
    }

    #[test]
    fn more_trials_than_the_cap_are_not_read() {
        let rule = Stopping::default();
        let mut values = effects(7, 61, 0.0, 0.2);
        let at_cap = rule.look(&values[..60], &[0.0; 60]);
        values[60] = f64::NAN;
        assert_eq!(rule.look(&values, &[0.0; 61]), at_cap);
    }
}
