//! Decides from the observations of every trial whether caches and pages were as requested.

use proofmark_gate::Entrant;
use proofmark_schema::memory::{CacheState, PageState, Probe};
use proofmark_schema::{Cache, Memory, Pages};
use proofmark_stats::median;

/// The sets of a rotation together exceed this multiple of a core's L2 cache.
const ROTATE_CACHES: u64 = 4;
/// A load from memory takes at least this much longer than a load from the L1 cache, on every
/// machine that we know of. The last-level cache of a large server may come near it.
const COLD_EXCESS_NS: f64 = 40.0;
/// The same for a load from beyond the L2 cache.
const ROTATE_EXCESS_NS: f64 = 8.0;

/// Bytes that the sets of a rotation must exceed.
pub(crate) fn rotate_bytes() -> u64 {
    ROTATE_CACHES * proofmark_machine::second_cache_bytes()
}

/// What was seen of one arm, trial by trial.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    probes: Vec<Probe>,
    /// Trials in which the machine could not measure it.
    untold: u32,
    sets: usize,
    set_bytes: u64,
    pages: Vec<(u64, u64)>,
}

impl Seen {
    /// Looks at an entrant after the blocks of a trial.
    pub(crate) fn look(
        &mut self,
        entrant: &mut Entrant<'_>,
        set_bytes: u64,
    ) -> Result<(), proofmark_arena::Fault> {
        match entrant.probe()? {
            Some(probe) => self.probes.push(probe),
            None => self.untold += 1,
        }
        (self.sets, self.set_bytes) = (entrant.sets(), set_bytes);
        self.pages.push(entrant.huge_and_mapped_bytes());
        Ok(())
    }

    /// The state of the caches over all trials: achieved only if it was in each.
    pub(crate) fn cache(&self, asked: Memory, rotate_bytes: u64) -> CacheState {
        let sets = self.sets.max(1) as u32;
        let is_large = u64::from(sets) * self.set_bytes > rotate_bytes;
        let is_seen = |excess: f64| {
            let clear = |probe: &Probe| probe.state_ns >= probe.hot_ns + excess;
            self.untold == 0 && !self.probes.is_empty() && self.probes.iter().all(clear)
        };
        let achieved = match asked.cache {
            Cache::Hot => true,
            Cache::Cold | Cache::WeightsCold => is_seen(COLD_EXCESS_NS),
            Cache::Rotate => is_large && is_seen(ROTATE_EXCESS_NS),
        };
        let middle =
            |part: fn(&Probe) -> f64| median(&self.probes.iter().map(part).collect::<Vec<_>>());
        CacheState {
            asked: asked.cache,
            achieved,
            probe_ns_median: middle(|probe| probe.state_ns),
            hot_ns_median: middle(|probe| probe.hot_ns),
            sets,
        }
    }

    /// The pages over all trials: achieved only if every operand lay on them in each.
    pub(crate) fn pages(&self, asked: Memory) -> PageState {
        let fits = |&(huge, mapped): &(u64, u64)| match asked.pages {
            Pages::Small => huge == 0,
            Pages::Huge => huge > 0 && huge == mapped,
        };
        let &(huge_bytes, mapped_bytes) =
            self.pages.iter().min_by_key(|(huge, _)| *huge).unwrap_or(&(0, 0));
        let achieved = !self.pages.is_empty() && self.pages.iter().all(fits);
        PageState { asked: asked.pages, achieved, huge_bytes, mapped_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(probes: &[(f64, f64)], sets: usize) -> Seen {
        let probe = |&(state_ns, hot_ns): &(f64, f64)| Probe { state_ns, hot_ns };
        let probes = probes.iter().map(probe).collect();
        Seen { probes, sets, set_bytes: 100, pages: vec![(0, 4096)], ..Seen::default() }
    }

    fn is_achieved(cache: Cache, seen: &Seen) -> bool {
        seen.cache(Memory { cache, ..Memory::default() }, 1000).achieved
    }

    #[test]
    fn a_state_is_achieved_only_if_every_trial_shows_it() {
        let cold = seen(&[(130.0, 2.0), (95.0, 3.0), (120.0, 2.0)], 1);
        assert!(is_achieved(Cache::Cold, &cold) && is_achieved(Cache::WeightsCold, &cold));
        assert_eq!(cold.cache(Memory::default(), 0).probe_ns_median, Some(120.0));
        let once_warm = seen(&[(130.0, 2.0), (12.0, 2.0)], 1);
        assert!(!is_achieved(Cache::Cold, &once_warm));
        assert!(!is_achieved(Cache::Cold, &Seen { untold: 1, ..cold.clone() }));
        assert!(!is_achieved(Cache::Cold, &Seen::default()) && is_achieved(Cache::Hot, &cold));
    }

    #[test]
    fn a_rotation_must_be_large_and_its_next_set_far() {
        assert!(is_achieved(Cache::Rotate, &seen(&[(30.0, 2.0)], 11)));
        assert!(!is_achieved(Cache::Rotate, &seen(&[(30.0, 2.0)], 10)), "too few sets");
        assert!(!is_achieved(Cache::Rotate, &seen(&[(6.0, 2.0)], 11)), "in the second cache");
    }

    #[test]
    fn pages_must_all_be_of_the_kind() {
        let huge = Memory { pages: Pages::Huge, ..Memory::default() };
        let with = |pages: &[(u64, u64)]| Seen { pages: pages.to_vec(), ..Seen::default() };
        assert!(with(&[(8, 8), (8, 8)]).pages(huge).achieved);
        assert!(!with(&[(8, 8), (4, 8)]).pages(huge).achieved);
        assert!(!with(&[(0, 0)]).pages(huge).achieved && !with(&[]).pages(huge).achieved);
        assert!(with(&[(0, 8)]).pages(Memory::default()).achieved);
        assert!(!with(&[(8, 8)]).pages(Memory::default()).achieved, "nobody asked for those");
    }
}
