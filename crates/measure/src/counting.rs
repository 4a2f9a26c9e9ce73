//! Which slices of a race count.

use proofmark_schema::conditions::{Reading, Ruler};
use proofmark_schema::race::{Race, Slice};
use proofmark_stats::median;
use std::collections::BTreeSet;

/// How far the first ruler may be off its trial's median, as a share, for the block to count.
const OFF: f64 = 0.20;
/// Readings that a trial must have for their median to mean anything.
const LEAST_READINGS: usize = 3;
/// Clean blocks that a trial must have for contaminated ones to be left out of it.
const LEAST_CLEAN_BLOCKS: usize = 6;

/// The slices of a trial that count. A block is left out as a whole if the scheduler took the
/// processor from any arm in it, or if a ruler was far off before it. These covariates depend
/// neither on which arm it was nor on how long it took.
/// If too few blocks are clean, all of them count, and the interval shows the noise.
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

/// Blocks of a trial before which the first ruler was far off the trial's median: something held
/// the processor back, whichever arm came next.
pub(crate) fn off_blocks(race: &Race, trial: u32) -> Vec<u32> {
    let of_trial = |reading: &&Reading| reading.trial == trial && reading.ruler == Ruler::Chain;
    let readings: Vec<&Reading> = race.readings.iter().filter(of_trial).collect();
    let times: Vec<f64> = readings.iter().map(|reading| reading.wall_ns as f64).collect();
    let Some(middle) = median(&times).filter(|_| times.len() >= LEAST_READINGS) else {
        return Vec::new();
    };
    let is_off = |time: f64| (time / middle - 1.0).abs() > OFF;
    readings.iter().zip(&times).filter(|(_, time)| is_off(**time)).map(|(r, _)| r.block).collect()
}
