//! A run as the history keeps it: where, when and from what its points were made.

use proofmark_schema::machine::MachineFacts;
use serde::{Deserialize, Serialize};

/// The machine of a run: the class, which is part of every series, and the instance, which is not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// 16 hexadecimal digits over what changes speed: architecture, processor, processors granted,
    /// caches, memory in GiB, features, hypervisor, governor. Another class is another series.
    pub class: String,
    /// Architecture.
    pub arch: String,
    /// The processor's name.
    pub cpu: String,
    /// Processors that were granted.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Hypervisor, if there is one.
    pub hypervisor: Option<String>,
    /// Frequency governor, if the kernel shows one.
    pub governor: Option<String>,
    /// Release of the kernel; it does not change the class.
    pub kernel: String,
    /// State of transparent huge pages; it does not change the class.
    pub huge_pages: String,
}

impl Environment {
    /// The environment of a machine.
    pub fn of(facts: &MachineFacts) -> Environment {
        let class = format!(
            "{}\n{}\n{}\n{}",
            facts.arch,
            facts.fingerprint,
            facts.hypervisor.as_deref().unwrap_or("none"),
            facts.governor.as_deref().unwrap_or("none"),
        );
        Environment {
            class: blake3::hash(class.as_bytes()).to_hex()[..16].to_owned(),
            arch: facts.arch.clone(),
            cpu: facts.cpu.clone(),
            cpus: u32::try_from(facts.cpus.len()).unwrap_or(u32::MAX),
            memory_bytes: facts.memory_bytes,
            hypervisor: facts.hypervisor.clone(),
            governor: facts.governor.clone(),
            kernel: facts.kernel.clone(),
            huge_pages: facts.huge_pages.clone(),
        }
    }
}

/// What the machine's rulers read during a run: medians over its races, in nanoseconds. A ruler
/// is a fixed loop, so that a change of it is a change of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Multiply-adds that wait for each other: it follows the frequency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain_ns: Option<f64>,
    /// A triad within the L1 cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triad_ns: Option<f64>,
    /// Reads that walk through 32 MiB, part after part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_ns: Option<f64>,
}

/// A run as the history keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id; ids sort by the time at which runs were started.
    pub id: String,
    /// When it was started, in microseconds since 1970.
    pub started: i64,
    /// Where its points lie on the time axis: the time of the commit, in microseconds since 1970;
    /// that of the run if no commit is known.
    pub commit_time: i64,
    /// The commit that was measured, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The branch that the commit is on, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Which command made the run: `quick`, `standard`, `compare` and so on.
    pub kind: String,
    /// Where it ran.
    pub environment: Environment,
    /// What the rulers read, where they were read.
    #[serde(default)]
    pub calibration: Calibration,
    /// Whether the run is whole: sealed, with nothing missing.
    pub is_whole: bool,
}
