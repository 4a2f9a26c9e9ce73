//! Reads the rulers between blocks, for a small share of the time, and evaluates them afterwards.

use crate::counting::counting;
use crate::stable::Heat;
use proofmark_schema::conditions::{Conditions, Reading, Rejected, Ruler, RulerStability};
use proofmark_schema::quantity::Interval;
use proofmark_schema::race::Race;
use proofmark_stats::{mad, median, median_interval, theil_sen};
use std::collections::BTreeSet;

/// Share of the slices' time that readings may take.
const SHARE: f64 = 0.03;
/// How much slower the first ruler must become for the processor to be called throttled.
const THROTTLED: f64 = 1.03;
/// Confidence of what is said about rulers.
const CONFIDENCE: f64 = 0.95;

/// Reads the rulers of one trial, never for more than its share of the time.
#[derive(Default)]
pub(crate) struct Watch {
    spent_ns: u64,
}

impl Watch {
    /// Reads all rulers before the first block and the short ones before later blocks, as long as
    /// the readings take only a small share of the time of the slices.
    pub(crate) fn read(&mut self, heat: &mut dyn Heat, race: &mut Race, trial: u32, block: u32) {
        let of_trial = race.slices.iter().rev().take_while(|slice| slice.trial == trial);
        let elapsed: u64 = of_trial.map(|slice| slice.outer_ns).sum();
        if block > 0 && self.spent_ns as f64 > SHARE * elapsed as f64 {
            return;
        }
        let Some(times) = heat.rulers(block == 0) else { return };
        // What comes before the first block delays nothing that is timed.
        if block > 0 {
            self.spent_ns += times.outer_ns;
        }
        let read = Ruler::ALL.into_iter().zip(times.wall_ns).filter(|(_, wall_ns)| *wall_ns > 0);
        race.readings.extend(read.map(|(ruler, wall_ns)| Reading { trial, block, ruler, wall_ns }));
    }
}

/// How steady each ruler was over the race; a ruler that was never read is left out.
pub fn ruler_stability(race: &Race) -> Vec<RulerStability> {
    Ruler::ALL.into_iter().filter_map(|ruler| stability(race, ruler)).collect()
}

fn stability(race: &Race, ruler: Ruler) -> Option<RulerStability> {
    let times = times(race, ruler);
    let middle = median(&times)?;
    // 1.4826 deviations are a standard deviation if times are normally distributed.
    let variation = 1.4826 * mad(&times)? / middle;
    Some(RulerStability {
        ruler,
        readings: times.len() as u32,
        wall_ns_median: middle,
        variation,
        drift: drift(race, ruler, middle),
    })
}

fn times(race: &Race, ruler: Ruler) -> Vec<f64> {
    let of_ruler = race.readings.iter().filter(|reading| reading.ruler == ruler);
    of_ruler.map(|reading| reading.wall_ns as f64).collect()
}

/// The slope over trials' medians, as a change over the whole race.
fn drift(race: &Race, ruler: Ruler, middle: f64) -> Option<Interval> {
    let of_trial = |trial: u32| {
        let read = race.readings.iter().filter(|r| r.ruler == ruler && r.trial == trial);
        Some((f64::from(trial), median(&read.map(|r| r.wall_ns as f64).collect::<Vec<_>>())?))
    };
    let (places, values): (Vec<f64>, Vec<f64>) =
        (0..race.trials.len() as u32).filter_map(of_trial).unzip();
    let slope = theil_sen(&places, &values, CONFIDENCE)?;
    let whole = (places.last()? - places.first()?) / middle;
    let [estimate, low, high] = [slope.estimate, slope.low, slope.high].map(|s| s * whole);
    Some(Interval { estimate, low, high, confidence: CONFIDENCE })
}

/// The first ruler's time in the later half of the race over the earlier, if that shows clearly
/// that the processor became slower.
fn throttled(race: &Race) -> Option<Interval> {
    let times = times(race, Ruler::Chain);
    let (early, late) = times.split_at(times.len() / 2);
    let (early_low, early_high) = median_interval(early, CONFIDENCE)?;
    let (late_low, late_high) = median_interval(late, CONFIDENCE)?;
    let ratio = Interval {
        estimate: median(late)? / median(early)?,
        low: late_low / early_high,
        high: late_high / early_low,
        confidence: CONFIDENCE,
    };
    (ratio.estimate > THROTTLED && ratio.low > 1.0).then_some(ratio)
}

/// The blocks that do not count, by reason.
fn rejected(race: &Race) -> Rejected {
    let mut rejected = Rejected::default();
    for trial in 0..race.trials.len() as u32 {
        let all = race.slices.iter().filter(|slice| slice.trial == trial);
        let blocks: BTreeSet<u32> = all.clone().map(|slice| slice.block).collect();
        let switched: BTreeSet<u32> =
            all.filter(|slice| slice.switches > 0).map(|slice| slice.block).collect();
        let counted: BTreeSet<u32> =
            counting(race, trial).iter().map(|slice| slice.block).collect();
        let left_out: Vec<&u32> = blocks.difference(&counted).collect();
        let by_switches = left_out.iter().filter(|block| switched.contains(block)).count();
        rejected.blocks += blocks.len() as u32;
        rejected.switches += by_switches as u32;
        rejected.ruler += (left_out.len() - by_switches) as u32;
    }
    rejected
}

/// What the machine did during a race.
pub fn conditions(race: &Race) -> Conditions {
    Conditions {
        rulers: ruler_stability(race),
        throttled: throttled(race),
        rejected: rejected(race),
        quiet: race.quiet,
    }
}
