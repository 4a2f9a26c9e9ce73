//! How a race is run.

use proofmark_schema::Memory;

/// How many trials, blocks and nanoseconds a race takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RaceRules {
    /// Seed of layouts, inputs and orders.
    pub seed: u64,
    /// Trials that are run even beyond the budget, so that there is an interval.
    pub least_trials: u32,
    /// Maximum number of trials.
    pub most_trials: u32,
    /// Blocks in a trial.
    pub blocks: u32,
    /// Length of a slice that is aimed at.
    pub slice_ns: u64,
    /// Time after which no further trial starts.
    pub budget_ns: u64,
    /// Confidence of intervals.
    pub confidence: f64,
    /// The relative half-width of an interval at which a cell of a table is precise enough.
    pub enough: f64,
    /// What caches and pages the arms are measured with.
    pub memory: Memory,
    /// Whether long calls follow an untimed call of their own arm, as short ones do. A table
    /// reports the time of a call with warm caches, so its calls are primed. A verdict is sharper
    /// without priming.
    pub primes_long: bool,
    /// How long to wait for a quiet machine before the race; 0: not at all.
    pub quiet_ns: u64,
    /// Greatest number of calls in a slice that is aimed at. A quarter more may be drawn.
    pub most_calls: u32,
    /// Every call has operands of its own, which the supervisor writes, and the supervisor's clock
    /// is the time.
    pub reveals: bool,
}

/// The most calls of a slice: a quarter more still fits the ledger.
const MOST_CALLS: u32 = 6000;
/// Length of a revealed slice: a hand-over takes less than a hundredth of it.
const REVEALED_SLICE_NS: u64 = 3_000_000;
/// Maximum number of blocks in a revealed trial. Writing the operands of a slice and checking its
/// results takes many times as long as the slice.
const REVEALED_BLOCKS: u32 = 12;

impl RaceRules {
    /// A first look: a second or two a cell.
    pub fn quick(seed: u64) -> RaceRules {
        RaceRules {
            seed,
            least_trials: 4,
            most_trials: 6,
            blocks: 8,
            slice_ns: 100_000,
            budget_ns: 600_000_000,
            confidence: 0.95,
            enough: 0.02,
            memory: Memory::default(),
            primes_long: true,
            quiet_ns: 0,
            most_calls: MOST_CALLS,
            reveals: false,
        }
    }

    /// These rules for arms whose reports are not trusted, with this number of sets of operands.
    pub(crate) fn revealing(self, sets: usize) -> RaceRules {
        RaceRules {
            slice_ns: REVEALED_SLICE_NS,
            blocks: self.blocks.min(REVEALED_BLOCKS),
            most_calls: MOST_CALLS.min(sets as u32 / 5 * 4).max(1),
            reveals: true,
            ..self
        }
    }

    /// The default of tables.
    pub fn standard(seed: u64) -> RaceRules {
        RaceRules {
            least_trials: 6,
            most_trials: 26,
            blocks: 24,
            budget_ns: 4_000_000_000,
            enough: 0.01,
            ..RaceRules::quick(seed)
        }
    }
}
