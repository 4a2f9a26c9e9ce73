//! What the machine did while a race ran: rulers, what they led to, and how quiet it was.

use crate::quantity::Interval;
use serde::{Deserialize, Serialize};

/// A fixed loop that measures the machine, not the contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruler {
    /// R1: multiply-adds in registers, each waiting for the last. It follows the frequency.
    Chain,
    /// R2: a triad within the L1 cache.
    Triad,
    /// R3: reads that walk through 32 MiB, part after part.
    Stream,
}

impl Ruler {
    /// All of them, in the order of their numbers.
    pub const ALL: [Ruler; 3] = [Ruler::Chain, Ruler::Triad, Ruler::Stream];

    /// The word in records and reports.
    pub fn name(self) -> &'static str {
        match self {
            Ruler::Chain => "chain",
            Ruler::Triad => "triad",
            Ruler::Stream => "stream",
        }
    }
}

/// One time of one ruler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The trial it was read in.
    pub trial: u32,
    /// The block it was read before.
    pub block: u32,
    /// Which ruler.
    pub ruler: Ruler,
    /// The time of its fixed work.
    pub wall_ns: u64,
}

/// How steady one ruler was over a race.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RulerStability {
    /// Which ruler.
    pub ruler: Ruler,
    /// How often it was read.
    pub readings: u32,
    /// Its median time.
    pub wall_ns_median: f64,
    /// Coefficient of variation, from the median absolute deviation: single interruptions, which
    /// reject their blocks, do not move it.
    pub variation: f64,
    /// Change from the first reading to the last, as a share of the median, by Theil and Sen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Interval>,
}

/// Blocks that do not count, by the covariate that rejected them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    /// Blocks of the race.
    pub blocks: u32,
    /// Those in which the scheduler took the processor away.
    pub switches: u32,
    /// Those before which the first ruler was far off its trial's median; not counted above.
    pub ruler: u32,
}

/// How busy the machine was just before a race, with nothing of ours running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quiet {
    /// Whether it was quiet; if not, the race is noisy.
    pub is_quiet: bool,
    /// Seconds that were waited for it.
    pub waited_seconds: f64,
    /// Share of the last sample in which something waited for a processor; left out where the
    /// kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<f64>,
    /// Share of all processors' time that the hypervisor stole in it.
    pub steal: f64,
    /// Share of all processors' time that others used in it.
    pub busy: f64,
}

/// The conditions under which a race was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// How steady each ruler was; a ruler that was not read is left out.
    pub rulers: Vec<RulerStability>,
    /// Time of the first ruler in the later half of the race over the earlier half, where it is
    /// clear that the processor became slower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<Interval>,
    /// Blocks that do not count.
    pub rejected: Rejected,
    /// How quiet the machine was; absent if the run did not wait for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Quiet>,
}
