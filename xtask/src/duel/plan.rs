//! What is left to compare, in random order: whole stretches under one noise, shuffled.

use std::collections::BTreeSet;

use proofmark_stats::Stream;

use super::harness::Harness;
use super::noise::Regime;
use super::options::Options;
use super::record;
use super::track::Track;

/// Comparisons of a cell that belong to one round: all cells advance together.
const ROUND: u64 = 20;

/// Turns under one noise before it changes.
const STRETCH: usize = 40;

/// Comparisons that are made in one go: one, or a few where a harness makes several itself.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) harness: &'static Harness,
    pub(super) track: Track,
    pub(super) planted: u64,
    pub(super) indices: Vec<u64>,
    /// The name of the cell.
    pub(super) cell: String,
}

/// Turns under one noise.
pub(super) struct Stretch {
    pub(super) regime: Regime,
    pub(super) turns: Vec<Turn>,
}

/// Everything of `options` whose key is not in `done`, shuffled by `seed`.
pub(super) fn plan(options: &Options, done: &BTreeSet<String>, seed: u64) -> Vec<Stretch> {
    let mut random = Stream::new(seed);
    let mut stretches = Vec::new();
    for round in 0..options.count.div_ceil(ROUND) {
        let indices = round * ROUND..((round + 1) * ROUND).min(options.count);
        let mut of_round = Vec::new();
        for &regime in &options.regimes {
            let mut turns = turns(options, regime, &indices.clone().collect::<Vec<_>>(), done);
            random.shuffle(&mut turns);
            let cut = turns.chunks(STRETCH).map(|turns| Stretch { regime, turns: turns.to_vec() });
            of_round.extend(cut);
        }
        random.shuffle(&mut of_round);
        stretches.extend(of_round);
    }
    stretches
}

fn turns(options: &Options, regime: Regime, indices: &[u64], done: &BTreeSet<String>) -> Vec<Turn> {
    let mut turns = Vec::new();
    for &harness in &options.harnesses {
        for track in &options.tracks {
            for &planted in &options.planted {
                let name = regime.name();
                let cell = record::cell(harness.name, track.case, name, planted, options.budget);
                if hash(&cell) % options.shard.1 != options.shard.0 {
                    continue;
                }
                let missing = indices.iter().copied();
                let missing: Vec<u64> =
                    missing.filter(|&index| !done.contains(&record::key(&cell, index))).collect();
                let at_once = if harness.makes_several { missing.len().max(1) } else { 1 };
                turns.extend(missing.chunks(at_once).map(|indices| Turn {
                    harness,
                    track: track.clone(),
                    planted,
                    indices: indices.to_vec(),
                    cell: cell.clone(),
                }));
            }
        }
    }
    turns
}

/// FNV-1a with a finish that spreads it to all bits: the same in every version, so that shards of
/// different machines fit together.
pub(super) fn hash(text: &str) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    Stream::new(text.bytes().fold(0xcbf2_9ce4_8422_2325, fold)).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &str) -> Options {
        Options::parse(&words.split(' ').collect::<Vec<_>>()).expect("options of the test")
    }

    fn keys(stretches: &[Stretch]) -> Vec<String> {
        let turns = stretches.iter().flat_map(|stretch| &stretch.turns);
        let keys = turns.flat_map(|turn| {
            turn.indices.iter().map(|&index| record::key(&turn.cell, index)).collect::<Vec<_>>()
        });
        keys.collect()
    }

    #[test]
    fn every_comparison_is_planned_once() {
        let options = options("--classes ST --regimes N0,N1 --count 12");
        let keys = keys(&plan(&options, &BTreeSet::new(), 1));
        let distinct: BTreeSet<&String> = keys.iter().collect();
        let cells = options.harnesses.len() * options.tracks.len() * 2 * 4;
        assert_eq!((keys.len(), distinct.len()), (cells * 12, cells * 12));
    }

    #[test]
    fn what_is_recorded_is_not_planned_again() {
        let options = options("--classes M --count 7");
        let all = keys(&plan(&options, &BTreeSet::new(), 1));
        let done: BTreeSet<String> = all.iter().step_by(3).cloned().collect();
        let rest: BTreeSet<String> = keys(&plan(&options, &done, 2)).into_iter().collect();
        assert!(rest.is_disjoint(&done));
        assert_eq!(rest.len() + done.len(), all.len());
    }

    #[test]
    fn shards_split_the_plan_without_gap_or_overlap() {
        let all: BTreeSet<String> =
            keys(&plan(&options("--count 3"), &BTreeSet::new(), 1)).into_iter().collect();
        let mut parts = BTreeSet::new();
        for shard in 1..=3 {
            let options = options(&format!("--count 3 --shard {shard}/3"));
            let part = keys(&plan(&options, &BTreeSet::new(), 1));
            assert!(
                part.len() > all.len() / 6,
                "shard {shard} has {} of {}",
                part.len(),
                all.len()
            );
            for key in part {
                assert!(parts.insert(key), "in two shards");
            }
        }
        assert_eq!(parts, all);
    }

    #[test]
    fn the_order_is_mixed_over_harnesses_and_differs_by_seed() {
        let options = options("--classes S --count 5");
        let one = keys(&plan(&options, &BTreeSet::new(), 1));
        assert_ne!(one, keys(&plan(&options, &BTreeSet::new(), 2)));
        let harness = |key: &String| key.split(' ').next().map(str::to_owned);
        let first: BTreeSet<_> = one.iter().take(60).map(harness).collect();
        assert!(first.len() > 3, "{first:?}");
    }
}
