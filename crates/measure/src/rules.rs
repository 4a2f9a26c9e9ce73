//! How a race is run.

use proofmark_schema::Memory;

/// How many trials, blocks and nanoseconds a race takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RaceRules {
    /// Seed of layouts, inputs and orders.
    pub seed: u64,
    /// Trials that are run whatever the budget, so that there is an interval.
    pub least_trials: u32,
    /// Trials at the most.
    pub most_trials: u32,
    /// Blocks in a trial.
    pub blocks: u32,
    /// Length of a slice that is aimed at.
    pub slice_ns: u64,
    /// Time after which no further trial starts.
    pub budget_ns: u64,
    /// Confidence of intervals.
    pub confidence: f64,
    /// Half-width of an interval, relative, at which a table's cell is good enough.
    pub enough: f64,
    /// What caches and pages the arms are measured with.
    pub memory: Memory,
    /// Whether long calls follow an untimed call of their own arm, as short ones do. A table tells
    /// what a call takes that finds its data in the caches. A verdict is sharper without priming.
    pub primes_long: bool,
    /// How long to wait for a quiet machine before the race; 0: not at all.
    pub quiet_ns: u64,
}

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
