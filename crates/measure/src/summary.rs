//! From raw slices to a time with its interval and a ratio with its verdict.

use crate::counting::counting;
use proofmark_schema::quantity::Interval;
use proofmark_schema::race::{Comparison, Race, Slice, Verdict};
use proofmark_stats::{
    Decision, REPORT_MARGIN, RatioInterval, SAME_MARGIN, TimedSlice, decide, median,
    median_interval, pair_log_ratios, ratio_interval, trial_effect, within_trial_error,
};

/// The time of one call of an arm: the median over trials of trial medians.
///
/// The interval is by order statistics; with too few trials for one, it spans all of them.
pub fn time_of_call(race: &Race, arm: u32, confidence: f64) -> Option<Interval> {
    let medians: Vec<f64> = (0..race.trials.len() as u32)
        .filter_map(|trial| {
            let of_arm = counting(race, trial).into_iter().filter(|slice| slice.arm == arm);
            median(&of_arm.map(Slice::call_ns).collect::<Vec<_>>())
        })
        .collect();
    let estimate = median(&medians)?;
    let spread = |pick: fn(f64, f64) -> f64| medians.iter().copied().reduce(pick);
    let (low, high) =
        median_interval(&medians, confidence).unwrap_or((spread(f64::min)?, spread(f64::max)?));
    Some(Interval { estimate, low, high, confidence })
}

/// The effects of the trials as log-ratios, and the error within each trial.
pub fn trial_values(race: &Race, base: u32, arm: u32) -> (Vec<f64>, Vec<f64>) {
    let mut values = (Vec::new(), Vec::new());
    for trial in 0..race.trials.len() as u32 {
        let slices: Vec<TimedSlice> = counting(race, trial)
            .into_iter()
            .map(|slice| TimedSlice {
                block: slice.block,
                position: slice.position,
                arm: slice.arm,
                value: slice.call_ns(),
            })
            .collect();
        let ratios = pair_log_ratios(&slices, base, arm);
        if let (Some(effect), Some(error)) = (trial_effect(&ratios), within_trial_error(&ratios)) {
            values.0.push(effect);
            values.1.push(error);
        }
    }
    values
}

/// The time of `arm` over the time of `base`, from pairs within blocks, trial by trial.
pub fn compare(race: &Race, base: u32, arm: u32, confidence: f64) -> Option<Comparison> {
    let (effects, errors) = trial_values(race, base, arm);
    let interval = ratio_interval(&effects, &errors, confidence)?;
    let (low, high, ratio) = (interval.low, interval.high, interval.ratio);
    let decision = decide(low, high, ratio, REPORT_MARGIN, SAME_MARGIN);
    let trials = effects.len() as u32;
    Some(comparison(race, base, &interval, confidence, decision, trials))
}

/// The ratio of two arms from the first `trials` trials alone. The number of trials behind this
/// interval was not chosen after seeing the data.
pub fn ratio_of_first(
    race: &Race,
    base: u32,
    arm: u32,
    trials: usize,
    confidence: f64,
) -> Option<Interval> {
    let (effects, errors) = trial_values(race, base, arm);
    let interval = ratio_interval(effects.get(..trials)?, errors.get(..trials)?, confidence)?;
    let RatioInterval { ratio: estimate, low, high, .. } = interval;
    Some(Interval { estimate, low, high, confidence })
}

/// A comparison in the form in which records store it.
pub(crate) fn comparison(
    race: &Race,
    base: u32,
    interval: &RatioInterval,
    confidence: f64,
    decision: Decision,
    trials: u32,
) -> Comparison {
    let &RatioInterval { ratio: estimate, low, high, .. } = interval;
    let verdict = match decision {
        Decision::Faster => Verdict::Faster,
        Decision::Slower => Verdict::Slower,
        Decision::Same => Verdict::Same,
        Decision::Undecided => Verdict::Undecided,
    };
    let against = race.arms[base as usize].clone();
    Comparison { against, ratio: Interval { estimate, low, high, confidence }, verdict, trials }
}
