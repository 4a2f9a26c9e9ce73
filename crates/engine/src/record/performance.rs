//! What a race says of one of its arms.

use super::limits::demand;
use proofmark_contract::Entry;
use proofmark_gate::Proven;
use proofmark_machine::Ceilings;
use proofmark_measure::{compare, conditions, time_of_call};
use proofmark_schema::Family;
use proofmark_schema::device::DeviceTime;
use proofmark_schema::plan::Item;
use proofmark_schema::race::{Race, SeenFaster, Slice};
use proofmark_schema::record::{Performance, SliceSpan};

/// Confidence of the intervals that are kept.
const CONFIDENCE: f64 = 0.95;

/// What an arm of a race showed.
pub(super) fn performance(
    race: &Race,
    arm: usize,
    entry: &Entry,
    item: &Item,
    proven: &Proven<'_>,
    ceilings: &Ceilings,
) -> Option<Performance> {
    let slices: Vec<_> = race.slices.iter().filter(|s| s.arm == arm as u32).collect();
    let (allocations_per_call, bytes_per_call) = allocated(&slices);
    // A kernel that uses one thread is held to what one thread can do.
    let threads = proven.receipt().threads.unwrap_or(item.threads);
    let sets = u64::from(race.cache[arm].sets);
    let demand = demand(entry, &item.case, threads, item.memory.cache, sets)?;
    Some(Performance {
        wall_ns: time_of_call(race, arm as u32, CONFIDENCE)?,
        trials: race.trials.len() as u32,
        slice_count: slices.len() as u32,
        cache: race.cache[arm],
        pages: Some(race.pages[arm]),
        peak_bytes: race.peak_bytes[arm],
        allocations_per_call,
        allocated_bytes_per_call: Some(bytes_per_call),
        limits: match &proven.receipt().on {
            Some(device) => ceilings.of_device(device, &demand),
            None => Some(ceilings.limits(&demand)),
        },
        comparison: if arm == 0 { None } else { compare(race, 0, arm as u32, CONFIDENCE) },
        best_peer: best_peer(race)
            .filter(|&best| best != arm as u32)
            .and_then(|best| compare(race, best, arm as u32, CONFIDENCE)),
        conditions: Some(conditions(race)),
        inputs: race.inputs,
        seen_faster: times_of(&race.seen_faster, arm),
        grown_bytes: race.grown(arm),
        device: DeviceTime::of(&race.device, arm as u32),
        slices: SliceSpan { race: item.index, arm: arm as u32 },
    })
}

/// Heap allocations of a call and their bytes. A worker may report any number of either.
fn allocated(slices: &[&Slice]) -> (f64, f64) {
    let total = |of: fn(&Slice) -> u64| {
        slices.iter().fold(0u64, |sum, slice| sum.saturating_add(of(slice))) as f64
    };
    let calls = total(|slice| slice.calls.into()).max(1.0);
    (total(|slice| slice.allocations.into()) / calls, total(|slice| slice.allocated_bytes) / calls)
}

fn times_of(found: &[SeenFaster], arm: usize) -> Option<f64> {
    found.iter().find(|one| one.arm as usize == arm).map(|one| one.times)
}

/// The arm of the fastest peer.
fn best_peer(race: &Race) -> Option<u32> {
    let arms = (0..race.arms.len() as u32).zip(&race.arms);
    let peers = arms.filter(|(_, who)| who.family == Family::Peer);
    let timed =
        peers.filter_map(|(arm, _)| Some((arm, time_of_call(race, arm, CONFIDENCE)?.estimate)));
    timed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(arm, _)| arm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_reported_bytes_has_a_mean() {
        let slice = |allocated_bytes| Slice {
            calls: 2,
            allocations: 3,
            allocated_bytes,
            ..Slice::default()
        };
        let honest = [slice(64), slice(32)];
        assert_eq!(allocated(&honest.each_ref()), (1.5, 24.0));
        let hostile = [slice(u64::MAX), slice(u64::MAX)];
        assert_eq!(allocated(&hostile.each_ref()), (1.5, u64::MAX as f64 / 4.0));
        assert_eq!(allocated(&[]), (0.0, 0.0));
    }
}
