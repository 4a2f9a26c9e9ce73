//! Records: one contender on one case, as it is kept.

use crate::conditions::Conditions;
use crate::device::DeviceTime;
use crate::imported::ImportedFrom;
use crate::memory::{CacheState, PageState};
use crate::plan::Use;
use crate::probe::{Level, Unit};
use crate::proof::Proof;
use crate::quantity::Interval;
use crate::race::{CallInputs, Comparison};
use crate::{Case, ContenderId, Isolation, Memory, Receipt, Work};
use serde::{Deserialize, Serialize};

/// Where the raw slices of a record lie within its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceSpan {
    /// Index of the race within the run.
    pub race: u64,
    /// This contender's arm in that race.
    pub arm: u32,
}

/// What limits a case: the slowest resource that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// Arithmetic.
    #[serde(rename = "compute")]
    Compute,
    /// Traffic with the L1 cache.
    L1,
    /// Traffic with the L2 cache.
    L2,
    /// Traffic with the L3 cache.
    L3,
    /// Traffic with main memory.
    #[serde(rename = "DRAM")]
    Dram,
    /// Neither: a call costs more than arithmetic and traffic.
    #[serde(rename = "overhead")]
    Overhead,
}

impl Bound {
    /// The word in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Compute => "compute",
            Bound::L1 => Level::L1.name(),
            Bound::L2 => Level::L2.name(),
            Bound::L3 => Level::L3.name(),
            Bound::Dram => Level::Dram.name(),
            Bound::Overhead => "overhead",
        }
    }
}

impl From<Level> for Bound {
    fn from(level: Level) -> Bound {
        match level {
            Level::L1 => Bound::L1,
            Level::L2 => Bound::L2,
            Level::L3 => Bound::L3,
            Level::Dram => Bound::Dram,
        }
    }
}

/// The limits of the machine for a case, as they were probed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Operations a second of the machine's best unit for the case.
    pub flops_per_second: f64,
    /// Bytes a second at the case's working set.
    pub bytes_per_second: f64,
    /// Least time of one call that these two allow.
    pub bound_ns: f64,
    /// What limits the case; absent in records written before this field existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// The best unit for the case; absent in the same records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
}

/// What was measured of a proven contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Performance {
    /// Time of one call: median over trials of trial medians.
    pub wall_ns: Interval,
    /// Trials behind it.
    pub trials: u32,
    /// Slices behind it.
    pub slice_count: u32,
    /// What the caches held.
    pub cache: CacheState,
    /// What pages the operands lay on; left out in records of format 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PageState>,
    /// Resident memory the case needed at its peak, in bytes.
    pub peak_bytes: u64,
    /// Heap allocations of one call.
    pub allocations_per_call: f64,
    /// Bytes that these ask for; left out in records of format 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated_bytes_per_call: Option<f64>,
    /// The machine's limits, where they were probed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Against the race's first arm, unless it is this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// What the machine did meanwhile; left out in records of format 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
    /// Against the fastest peer of the same race, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_peer: Option<Comparison>,
    /// What its calls found in their inputs.
    #[serde(default)]
    pub inputs: CallInputs,
    /// The time of a call on new inputs over that of calls in a row, where the contender is faster
    /// on inputs that it has seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_faster: Option<f64>,
    /// How much the resident memory of its worker grew in every trial while it was called, in
    /// bytes, where that is too much to be a cache that fills.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grown_bytes: Option<u64>,
    /// The time of a call by the device's clock too, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceTime>,
    /// The raw slices.
    pub slices: SliceSpan,
}

/// A judged contender: performance exists only together with a proof that passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "judged", rename_all = "snake_case")]
pub enum Judged {
    /// The proof passed.
    Proven {
        /// The proof.
        proof: Proof,
        /// What was measured, if anything was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        performance: Option<Box<Performance>>,
    },
    /// The contender was refused; the proof says why.
    Refused {
        /// The proof with its refusal.
        proof: Proof,
    },
}

impl Judged {
    /// The proof in either case.
    pub fn proof(&self) -> &Proof {
        match self {
            Judged::Proven { proof, .. } | Judged::Refused { proof } => proof,
        }
    }

    /// The performance of a proven contender.
    pub fn performance(&self) -> Option<&Performance> {
        match self {
            Judged::Proven { performance, .. } => performance.as_deref(),
            Judged::Refused { .. } => None,
        }
    }
}

/// One contender on one case in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Format version it was written in.
    pub format: u32,
    /// The run it belongs to.
    pub run: String,
    /// Its item in the run's plan.
    pub item: u64,
    /// The case.
    pub case: Case,
    /// The contender.
    pub contender: ContenderId,
    /// Threads it was given.
    pub threads: usize,
    /// What caches and pages were asked for.
    #[serde(default)]
    pub memory: Memory,
    /// What it reports about itself.
    pub receipt: Receipt,
    /// What stood between it and the supervisor.
    pub isolation: Isolation,
    /// Work of one call by definition.
    pub work: Work,
    /// Sizes of the axes by role, for the flat records of tables.
    pub shape: ShapeRoles,
    /// Where models have the case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Use>,
    /// Where the op came from, if it was read from another project's format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedFrom>,
    /// The verdict and what it permits.
    #[serde(flatten)]
    pub judged: Judged,
}

/// The roles that flat tables know, filled from the op's axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeRoles {
    /// Independent problems in a batch.
    pub batch_size: u64,
    /// Positions along a sequence, or rows.
    pub sequence_length: u64,
    /// Elements of the innermost dimension.
    pub tensor_dimension: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_older_records_are_read_and_bounds_have_their_words() {
        let old = r#"{"flops_per_second":1e9,"bytes_per_second":2e9,"bound_ns":3.0}"#;
        let limits: Limits = serde_json::from_str(old).unwrap();
        assert_eq!((limits.bound_ns, limits.bound, limits.unit), (3.0, None, None));
        for bound in [Bound::Compute, Bound::L1, Bound::L3, Bound::Dram, Bound::Overhead] {
            assert_eq!(serde_json::to_value(bound).unwrap(), bound.name());
        }
    }
}
