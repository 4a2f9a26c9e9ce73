//! Facts about the machine a run was made on.

use serde::{Deserialize, Serialize};

/// How a check of the machine went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// As it should be.
    Fine,
    /// Works, with a loss that the detail names.
    Warning,
    /// Runs cannot be trusted or cannot start.
    Problem,
}

impl CheckState {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            CheckState::Fine => "fine",
            CheckState::Warning => "warning",
            CheckState::Problem => "problem",
        }
    }
}

/// One cache as the processor reports it (hypervisors may lie).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheFacts {
    /// Level, from 1.
    pub level: u8,
    /// `data`, `instruction` or `unified`.
    pub kind: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// What this computer is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// Format version.
    pub format: u32,
    /// Processor's brand string.
    pub cpu: String,
    /// Architecture.
    pub arch: String,
    /// Processors this process may run on.
    pub cpus: Vec<usize>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Caches of one core, and those it shares.
    pub caches: Vec<CacheFacts>,
    /// Instruction-set features that kernels could use.
    pub features: Vec<String>,
    /// Highest path kernels may take, detection and cap together.
    pub isa: crate::Isa,
    /// Kernel release.
    pub kernel: String,
    /// Hypervisor, if there is one.
    pub hypervisor: Option<String>,
    /// State of transparent huge pages.
    pub huge_pages: String,
    /// Frequency governor, if the kernel shows one.
    pub governor: Option<String>,
    /// Whether hardware counters can be opened.
    pub hardware_counters: bool,
    /// Name for machines of this kind: a hash of what changes speed.
    pub fingerprint: String,
}

/// What the machine was doing at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// One-minute load average.
    pub average: f64,
    /// Share of time stolen by the hypervisor since boot, 0 to 1.
    pub steal: f64,
    /// Pressure: share of the last 10 s in which something waited for a CPU, 0 to 1.
    pub pressure: f64,
    /// Memory available, in bytes.
    pub available_bytes: u64,
}
