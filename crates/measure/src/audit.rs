//! Audits: compares calls on new inputs, each made alone, with calls on the inputs of the call
//! before and with calls in a row.
//!
//! In a row, one input element changes between calls. An arm that recomputes only what depends on
//! that element, or that keeps results, is faster on inputs that it has seen. Its results are
//! right, so it is not accused. Instead, the field is raced again with new inputs in every call,
//! and those times are published.

use crate::counting::counting;
use proofmark_schema::race::{Audit, Race, SeenFaster, Slice};
use proofmark_stats::median;

/// Time that the calls of one arm's audit take in a trial, and the number of pairs of calls. One
/// more call comes first, because it finds the caches in another state than the rest.
const AUDIT_NS: f64 = 300e3;
const LEAST_PAIRS: u32 = 1;
const MOST_PAIRS: u32 = 12;
/// How much longer a call on new inputs may take than one on the inputs of the call before it,
/// after the same stores. Some difference is normal, because branches are predicted better on
/// repeated inputs.
const NEW: f64 = 0.05;
const NEW_NS: f64 = 40.0;
/// How much longer a single call may take than calls in a row: a share, the overhead of reading the
/// clock and of entering the call, and the time to wake several threads.
const ALONE: f64 = 0.1;
const ALONE_NS: f64 = 100.0;
const WAKE_NS: f64 = 150e3;
/// Size of operands from which the stores before a single call change what the caches hold, and the
/// share that is allowed then.
const LARGE_BYTES: u64 = 256 << 10;
const LARGE_ALONE: f64 = 1.0;
/// Trials that are needed for a finding, and the share of all trials that must show it.
const TRIALS: usize = 4;
const SHARE: f64 = 0.75;

/// The number of calls in an audit of an arm whose fastest call took `fastest` nanoseconds.
pub(crate) fn calls(fastest: f64) -> u32 {
    1 + 2 * ((AUDIT_NS / fastest / 2.0) as u32).clamp(LEAST_PAIRS, MOST_PAIRS)
}

/// The arms that are faster on inputs that they have seen, in at least [`SHARE`] of the trials.
/// `terms` gives the threads of an arm and the bytes of its operands.
pub(crate) fn seen_faster(race: &Race, terms: &dyn Fn(usize) -> (usize, u64)) -> Vec<SeenFaster> {
    let arm = |arm: usize| {
        let (threads, bytes) = terms(arm);
        let wake = if threads > 1 { WAKE_NS } else { 0.0 };
        let share = if bytes > LARGE_BYTES { LARGE_ALONE } else { ALONE };
        let of_trial = |trial: u32| {
            let is_meant = |one: &&Audit| one.trial == trial && one.arm == arm as u32;
            let audit = race.audits.iter().find(is_meant)?;
            let (new, same) = (audit.new_ns as f64, audit.same_ns as f64);
            let row = in_a_row(race, trial, arm)?;
            let is_new_longer = same > 0.0 && new > (1.0 + NEW) * same + NEW_NS;
            let is_alone_longer = new.min(same) > (1.0 + share) * row + ALONE_NS + wake;
            Some((is_new_longer || is_alone_longer, new / row.min(same.max(1.0))))
        };
        let seen: Vec<(bool, f64)> = (0..race.trials.len() as u32).filter_map(of_trial).collect();
        let longer = seen.iter().filter(|(is_longer, _)| *is_longer).count();
        let is_shown = seen.len() >= TRIALS && longer as f64 >= SHARE * seen.len() as f64;
        let times: Vec<f64> = seen.iter().map(|(_, times)| *times).collect();
        is_shown.then_some(SeenFaster { arm: arm as u32, times: median(&times)? })
    };
    (0..race.arms.len()).filter_map(arm).collect()
}

fn in_a_row(race: &Race, trial: u32, arm: usize) -> Option<f64> {
    let slices = counting(race, trial).into_iter().filter(|slice| slice.arm == arm as u32);
    median(&slices.map(Slice::call_ns).collect::<Vec<_>>())
}
