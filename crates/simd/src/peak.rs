//! The rate of arithmetic on machines whose units we do not know: what the compiler makes of a
//! plain loop.

use proofmark_schema::probe::Unit;
use std::hint::black_box;

/// Independent sums, enough to hide the latency of an addition.
const CHAINS: usize = 12;
/// `None`: the clock rate cannot be derived from a chain of unknown latency.
pub const CLOCK_CYCLES: Option<u64> = None;

/// The one unit there is.
#[derive(Clone, Copy, Debug)]
pub struct Peak;

/// What a loop leaves behind.
#[derive(Default)]
pub struct Sums([f32; CHAINS]);

impl Peak {
    /// The baseline, and no other unit.
    pub fn of(unit: Unit) -> Option<Peak> {
        (unit == Unit::F32Baseline).then_some(Peak)
    }

    /// Multiply-adds of one step of its loop.
    pub fn multiply_adds(self) -> u64 {
        CHAINS as u64
    }

    /// Runs `steps` steps of its loop.
    pub fn run(self, steps: u64, sums: &mut Sums) {
        let (mut chains, one) = ([0_f32; CHAINS], black_box(1_f32));
        for _ in 0..steps {
            chains.iter_mut().for_each(|sum| *sum = *sum * one + one);
        }
        sums.0 = black_box(chains);
    }
}

/// Does nothing: see [`CLOCK_CYCLES`].
pub fn clock_chain(_steps: u64) {}
