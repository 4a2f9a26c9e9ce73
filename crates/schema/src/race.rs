//! Raw slices of a race and what they are grouped by.

use crate::conditions::{Quiet, Reading};
use crate::device::DeviceSlice;
use crate::memory::{CacheState, PageState};
use crate::quantity::Interval;
use crate::{Case, ContenderId};
use serde::{Deserialize, Serialize};

/// One timed batch of calls of one arm.
///
/// The worker's own clock gives `wall_ns`; `outer_ns` is the supervisor's bound on it. The other
/// fields are covariates by which contaminated slices are found, blind to the arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Trial, from 0: fresh worker processes, one random layout for all arms.
    pub trial: u32,
    /// Block within the trial.
    pub block: u32,
    /// Position within the block.
    pub position: u32,
    /// Which contender, as an index into [`Race::arms`].
    pub arm: u32,
    /// Calls in the batch.
    pub calls: u32,
    /// Start on the worker's monotonic clock.
    pub start_ns: u64,
    /// The batch on the worker's clock.
    pub wall_ns: u64,
    /// CPU time of the calling thread during the batch.
    pub cpu_ns: u64,
    /// The batch with its hand-over on the supervisor's clock.
    pub outer_ns: u64,
    /// Involuntary context switches of the calling thread.
    pub switches: u32,
    /// Page faults of the calling thread.
    pub faults: u32,
    /// Heap allocations made during the batch.
    pub allocations: u32,
    /// Bytes that these asked for.
    #[serde(default)]
    pub allocated_bytes: u64,
    /// Processor time that the kernel accounts to the whole worker process for the batch, untimed
    /// calls included, less the time in which results came home after the timed calls; 0 in races
    /// of format 2.
    #[serde(default)]
    pub used_ns: u64,
    /// Of that, the calling thread's; 0 in races of format 2.
    #[serde(default)]
    pub own_ns: u64,
    /// Untimed calls before the timed ones; 0 in races of format 2.
    #[serde(default)]
    pub primed: u32,
}

/// What the calls of a race find in their inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallInputs {
    /// The same values in every call of a trial: races of format 2.
    #[default]
    Repeated,
    /// One element changes before each call, and calls follow one another at once.
    Perturbed,
    /// Every element changes before each call, and each call is timed alone.
    Fresh,
    /// Every call has operands of its own, which the supervisor writes before the slice and checks
    /// after it; the supervisor's clock is the time.
    Revealed,
}

impl CallInputs {
    /// The word in records.
    pub fn name(self) -> &'static str {
        match self {
            CallInputs::Repeated => "repeated",
            CallInputs::Perturbed => "perturbed",
            CallInputs::Fresh => "fresh",
            CallInputs::Revealed => "revealed",
        }
    }
}

/// Calls of one arm in one trial, each made alone: half of them on inputs that no call has seen,
/// half on the inputs of the call before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// The trial.
    pub trial: u32,
    /// The arm.
    pub arm: u32,
    /// Calls.
    pub calls: u32,
    /// The time of the fastest call on new inputs. The minimum is taken because a busy machine only
    /// adds time.
    pub new_ns: u64,
    /// The time of the fastest call on the inputs of the call before it.
    pub same_ns: u64,
}

/// An arm that is faster on inputs that it has seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeenFaster {
    /// The arm.
    pub arm: u32,
    /// The time of a call on new inputs over that of calls in a row.
    pub times: f64,
}

impl Slice {
    /// Nanoseconds of one call.
    pub fn call_ns(&self) -> f64 {
        self.wall_ns as f64 / f64::from(self.calls.max(1))
    }
}

/// What one trial was set up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Seed of the layout that all arms share, and of the inputs revealed after loading.
    pub seed: u64,
    /// Bytes every operand was moved by.
    pub operand_shift: u32,
    /// Bytes of padding in the environment, which moves the stack.
    pub environment_pad: u32,
    /// Bytes allocated before the contender was loaded, which moves its heap.
    pub heap_pad: u32,
    /// Pages that everything mapped was moved by.
    pub mapping_pad: u32,
}

/// A race of proven contenders on one case, as it happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Race {
    /// The case.
    pub case: Case,
    /// The contenders; arm 0 is the one the others are compared with.
    pub arms: Vec<ContenderId>,
    /// Threads each may use.
    pub threads: usize,
    /// Seed that drew layouts, inputs and block orders.
    pub seed: u64,
    /// The trials in order.
    pub trials: Vec<Trial>,
    /// Every slice in the order it ran.
    pub slices: Vec<Slice>,
    /// Elements of timed outputs that were checked against the oracle.
    pub checked: u64,
    /// Greatest resident memory that each arm's worker gained for the case, in bytes.
    pub peak_bytes: Vec<u64>,
    /// How much the resident memory of each arm's worker grew during the slices of a trial, in the
    /// trial where it grew least; empty in races of format 2.
    #[serde(default)]
    pub grown_bytes: Vec<u64>,
    /// What each arm's caches were asked to hold and held; empty in races of format 1.
    #[serde(default)]
    pub cache: Vec<CacheState>,
    /// What pages each arm's operands were asked to lie on and did; empty in races of format 1.
    #[serde(default)]
    pub pages: Vec<PageState>,
    /// Every reading of the rulers in the order it was made.
    #[serde(default)]
    pub readings: Vec<Reading>,
    /// What the calls find in their inputs.
    #[serde(default)]
    pub inputs: CallInputs,
    /// The audits of the arms, one for each arm and trial.
    #[serde(default)]
    pub audits: Vec<Audit>,
    /// Arms that are faster on inputs that they have seen; because of them, every call of this race
    /// has fresh inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen_faster: Vec<SeenFaster>,
    /// The times of slices on the clocks of their devices, in the order in which the slices ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device: Vec<DeviceSlice>,
    /// How quiet the machine was before the race, if it was waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Quiet>,
}

/// Growth of resident memory in every trial from which on it is reported.
const GROWN_BYTES: u64 = 16 << 20;

impl Race {
    /// How much an arm's memory grew in every trial, in bytes, where it is enough to be reported.
    pub fn grown(&self, arm: usize) -> Option<u64> {
        self.grown_bytes.get(arm).copied().filter(|&bytes| bytes >= GROWN_BYTES)
    }
}

/// What a comparison may conclude.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// The interval lies below 1 and the estimate beyond the margin that is reported.
    Faster,
    /// The interval lies above 1 and the estimate beyond the margin that is reported.
    Slower,
    /// The whole interval lies within the margin of sameness around 1.
    Same,
    /// None of the three could be shown.
    Undecided,
}

impl Verdict {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Faster => "FASTER",
            Verdict::Slower => "SLOWER",
            Verdict::Same => "SAME",
            Verdict::Undecided => "UNDECIDED",
        }
    }
}

/// One arm against arm 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The arm that is compared with.
    pub against: ContenderId,
    /// Time of this arm over time of that one.
    pub ratio: Interval,
    /// What follows.
    pub verdict: Verdict,
    /// Trials behind it.
    pub trials: u32,
}

/// The end of a race that decides: a comparison with the rule that stopped it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ruling {
    /// The second arm against the first.
    pub comparison: Comparison,
    /// Error rate of the whole race, over all looks.
    pub alpha: f64,
    /// Effects smaller than this share are not reported as a change.
    pub report_margin: f64,
    /// Ratios that differ from 1 by less than this share are the same.
    pub same_margin: f64,
    /// Why nothing was decided; absent where something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided_because: Option<String>,
    /// The change, as a share, that this many trials with this noise find nine times in ten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
    /// Seconds from the first worker to the verdict.
    pub seconds: f64,
}
