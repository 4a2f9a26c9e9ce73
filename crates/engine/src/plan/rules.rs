//! The rules of proofs and races: how thoroughly a case is examined, with which thread counts, and
//! how much time a race is given.

use proofmark_contract::Entry;
use proofmark_gate::{Depth, Rules};
use proofmark_measure::RaceRules;
use proofmark_schema::plan::RunKind;
use proofmark_schema::{Case, ContenderId};

/// Operations and bytes up to which a measured case is examined in full.
const FULL_FLOPS: u64 = 20_000_000;
const FULL_BYTES: u64 = 4 << 20;

/// How thoroughly a case that will be measured is examined.
pub(crate) fn depth_for(entry: &Entry, case: &Case) -> Depth {
    let work = entry.op.work(case);
    let is_small = work.flops <= FULL_FLOPS && work.bytes() <= FULL_BYTES;
    if is_small { Depth::Full } else { Depth::Sampled }
}

/// The rules of a proof with these threads and at this depth.
pub(crate) fn proof_rules(
    seed: u64,
    threads: usize,
    siblings: Vec<ContenderId>,
    depth: Depth,
) -> Rules {
    // These counts lie on both sides of the promised one and include oversubscription.
    let other_threads = [1, 2, 3].into_iter().filter(|&other| other != threads).collect();
    Rules { seed, threads, other_threads, siblings, depth }
}

/// The rules of the races of a plan of this kind.
pub(crate) fn race_rules(kind: RunKind, seed: u64) -> RaceRules {
    match kind {
        RunKind::Quick => RaceRules::quick(seed),
        RunKind::Standard
        | RunKind::Compare
        | RunKind::Scale
        | RunKind::Tune
        | RunKind::Programs => RaceRules::standard(seed),
    }
}
