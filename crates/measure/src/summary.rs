//! From raw slices to a time with its interval and a ratio with its verdict.

use proofmark_schema::quantity::Interval;
use proofmark_schema::race::{Comparison, Race, Verdict};
use proofmark_stats::{
    Decision, REPORT_MARGIN, SAME_MARGIN, TimedSlice, decide, median, median_interval,
    pair_log_ratios, ratio_interval, trial_effect, within_trial_error,
};

/// The time of one call of an arm: the median over trials of trial medians.
///
/// The interval is by order statistics; with too few trials for one, it spans all of them.
pub fn time_of_call(race: &Race, arm: u32, confidence: f64) -> Option<Interval> {
    let medians: Vec<f64> = (0..race.trials.len() as u32)
        .filter_map(|trial| {
            let of_trial = race.slices.iter().filter(|s| s.trial == trial && s.arm == arm);
            median(&of_trial.map(proofmark_schema::race::Slice::call_ns).collect::<Vec<_>>())
        })
        .collect();
    let estimate = median(&medians)?;
    let spread = |pick: fn(f64, f64) -> f64| medians.iter().copied().reduce(pick);
    let (low, high) =
        median_interval(&medians, confidence).unwrap_or((spread(f64::min)?, spread(f64::max)?));
    Some(Interval { estimate, low, high, confidence })
}

/// The time of `arm` over the time of `base`, from pairs within blocks, trial by trial.
pub fn compare(race: &Race, base: u32, arm: u32, confidence: f64) -> Option<Comparison> {
    let mut effects = Vec::new();
    let mut errors = Vec::new();
    for trial in 0..race.trials.len() as u32 {
        let of_trial = race.slices.iter().filter(|slice| slice.trial == trial);
        let slices: Vec<TimedSlice> = of_trial
            .map(|slice| TimedSlice {
                block: slice.block,
                position: slice.position,
                arm: slice.arm,
                value: slice.call_ns(),
            })
            .collect();
        let ratios = pair_log_ratios(&slices, base, arm);
        if let (Some(effect), Some(error)) = (trial_effect(&ratios), within_trial_error(&ratios)) {
            effects.push(effect);
            errors.push(error);
        }
    }
    let interval = ratio_interval(&effects, &errors, confidence)?;
    let ratio =
        Interval { estimate: interval.ratio, low: interval.low, high: interval.high, confidence };
    let decision = decide(ratio.low, ratio.high, ratio.estimate, REPORT_MARGIN, SAME_MARGIN);
    let verdict = match decision {
        Decision::Faster => Verdict::Faster,
        Decision::Slower => Verdict::Slower,
        Decision::Same => Verdict::Same,
        Decision::Undecided => Verdict::Undecided,
    };
    let against = race.arms[base as usize].clone();
    Some(Comparison { against, ratio, verdict, trials: effects.len() as u32 })
}
