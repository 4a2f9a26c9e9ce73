//! When a race may decide, and what it decides.

use proofmark_contract::Entry;
use proofmark_measure::{ruling_of, trial_values};
use proofmark_schema::Case;
use proofmark_schema::decision::{Decided, RacedArm, Round};
use proofmark_schema::race::Race;
use proofmark_stats::{Looks, Stopping};

/// Working sets beyond this stream from outside the second-level cache and vary more.
const STREAMING_BYTES: u64 = 1 << 20;

/// When a race on a case may decide. A case that streams or uses several threads varies more and
/// gets more trials.
pub(crate) fn looks_for(entry: &Entry, case: &Case, threads: usize) -> Looks {
    let bytes = entry.op.signature(case).map_or(0, |signature| signature.bytes());
    if threads > 1 || bytes > STREAMING_BYTES { Looks::long() } else { Looks::short() }
}

/// What follows from a race's slices. It is a pure function of them, so a replay gives the same.
pub(crate) fn decided(
    round: Round,
    arms: [RacedArm; 2],
    race: &Race,
    stopping: &Stopping,
    seconds: f64,
) -> Decided {
    let (effects, within) = trial_values(race, 0, 1);
    Decided {
        round,
        arms,
        looks: stopping.looks.at().to_vec(),
        ruling: ruling_of(race, stopping, seconds),
        p_value: stopping.p_value(&effects, &within),
    }
}
