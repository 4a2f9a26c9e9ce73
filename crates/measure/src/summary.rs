//! From raw slices to a time with its interval and a ratio with its verdict.

use crate::ruler::off_blocks;
use proofmark_schema::quantity::Interval;
use proofmark_schema::race::{Comparison, Race, Slice, Verdict};
use proofmark_stats::{
    Decision, REPORT_MARGIN, RatioInterval, SAME_MARGIN, TimedSlice, decide, median,
    median_interval, pair_log_ratios, ratio_interval, trial_effect, within_trial_error,
};
use std::collections::BTreeSet;

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

/// Clean blocks that a trial must have for contaminated ones to be left out of it.
const LEAST_CLEAN_BLOCKS: usize = 6;

/// The slices of a trial that count. A block in which the scheduler took the processor from any
/// arm, or before which a ruler was far off, is left out whole: the covariates are blind to which
/// arm it was and to how long it took.
/// Where too few blocks are clean, all count, and the noise shows in the interval.
pub fn counting(race: &Race, trial: u32) -> Vec<&Slice> {
    let all: Vec<&Slice> = race.slices.iter().filter(|slice| slice.trial == trial).collect();
    let mut disturbed: BTreeSet<u32> = match is_one_sided(race) {
        true => BTreeSet::new(),
        false => all.iter().filter(|slice| slice.switches > 0).map(|slice| slice.block).collect(),
    };
    disturbed.extend(off_blocks(race, trial));
    let blocks: BTreeSet<u32> = all.iter().map(|slice| slice.block).collect();
    if blocks.len() - disturbed.len() < LEAST_CLEAN_BLOCKS {
        return all;
    }
    all.into_iter().filter(|slice| !disturbed.contains(&slice.block)).collect()
}

/// Margin over twice the switches of any other arm, above which an arm causes its switches itself.
const OWN_SWITCHES: usize = 12;

/// Whether the processor was taken from one arm far more often than from the others. A busy machine
/// hits all arms alike. An arm that causes its own switches could choose the blocks that count.
fn is_one_sided(race: &Race) -> bool {
    let mut switched = vec![0usize; race.arms.len()];
    for slice in race.slices.iter().filter(|slice| slice.switches > 0) {
        if let Some(count) = switched.get_mut(slice.arm as usize) {
            *count += 1;
        }
    }
    switched.sort_unstable();
    match switched.as_slice() {
        [.., next, most] => *most > 2 * next + OWN_SWITCHES,
        _ => false,
    }
}

/// The effects of the trials, as log-ratios, and the error that each shows of itself.
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

/// The ratio of two arms from the first so many trials alone: an interval whose size was not chosen
/// after seeing the data.
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

/// A comparison in the words of records.
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
