//! A batch of calls: how it is ordered, and what it took.

use proofmark_schema::wire::HandOver;
use std::sync::atomic::Ordering::Relaxed;

/// What a batch does with the inputs before each of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inputs {
    /// Nothing.
    #[default]
    AsTheyAre,
    /// One input element changes and one output element is spoiled
    /// (`proofmark_contract::Step`); calls follow one another at once.
    Perturbed(Change),
    /// All inputs change (`proofmark_contract::Pattern`) and one output element is spoiled; each
    /// call is timed alone.
    Fresh(Change),
    /// As `Fresh`, but calls come in pairs: one call of a pair finds new inputs, the other finds
    /// the inputs of the call before it.
    Audit(Change),
}

/// How inputs change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where places and bits are drawn from.
    pub seed: u64,
    /// Whether weights change too; packed ones must not.
    pub with_weights: bool,
}

/// A command to call the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Calls before the clock starts.
    pub prime: u32,
    /// Calls that are timed.
    pub calls: u32,
    /// Check the processor's state after every call, not only at the end.
    pub check_each_call: bool,
    /// Fill the workspace with this pattern first.
    pub dirty_workspace: Option<u32>,
    /// Run a loop of calls and nothing else, with hot caches, to measure the overhead of a batch.
    pub bare: bool,
    /// What happens to the inputs before each call.
    pub inputs: Inputs,
}

impl Default for Batch {
    /// One call.
    fn default() -> Batch {
        Batch {
            prime: 0,
            calls: 1,
            check_each_call: false,
            dirty_workspace: None,
            bare: false,
            inputs: Inputs::AsTheyAre,
        }
    }
}

/// What a batch took. The worker reports every field but `outer_ns` and `used_ns`, which the
/// supervisor measures itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Start of the timed calls on the monotonic clock.
    pub start_ns: u64,
    /// Time of the timed calls.
    pub wall_ns: u64,
    /// Processor time of the calling thread for them.
    pub cpu_ns: u64,
    /// Processor time of the calling thread since the last batch.
    pub own_ns: u64,
    /// The fastest call on new inputs, where calls are timed one by one; else 0.
    pub alone_ns: u64,
    /// The fastest call of an audit on the inputs of the call before it; else 0.
    pub same_ns: u64,
    /// From the command to the answer on the supervisor's clock: an upper bound.
    pub outer_ns: u64,
    /// Processor time that the kernel accounts to the whole process meanwhile, priming included;
    /// 0 where it does not say.
    pub used_ns: u64,
    /// Time to bring results that lie elsewhere into the outputs, after the batch.
    pub settle_ns: u64,
    /// Calls whose events a device has kept; 0 on the host.
    pub device_calls: u32,
    /// The time of their kernels on the device's clock.
    pub device_kernel_ns: u64,
    /// The time of moving their operands on the device's clock.
    pub device_copy_ns: u64,
    /// Involuntary switches of the calling thread.
    pub switches: u32,
    /// Page faults of the calling thread.
    pub faults: u32,
    /// Heap allocations of the process.
    pub allocations: u32,
    /// Bytes that these allocations asked for.
    pub allocated_bytes: u64,
    /// State that was left changed; see [`proofmark_schema::wire::leak`].
    pub leaks: u32,
}

impl Ran {
    /// What the worker wrote into its page, with what the supervisor measured.
    pub(crate) fn by_worker(page: &HandOver, outer_ns: u64, used_ns: u64) -> Ran {
        Ran {
            start_ns: page.start_ns.load(Relaxed),
            wall_ns: page.wall_ns.load(Relaxed),
            cpu_ns: page.cpu_ns.load(Relaxed),
            own_ns: page.own_ns.load(Relaxed),
            alone_ns: page.alone_ns.load(Relaxed),
            same_ns: page.same_ns.load(Relaxed),
            outer_ns,
            used_ns,
            settle_ns: page.settle_ns.load(Relaxed),
            device_calls: page.device_calls.load(Relaxed),
            device_kernel_ns: page.device_kernel_ns.load(Relaxed),
            device_copy_ns: page.device_copy_ns.load(Relaxed),
            switches: page.switches.load(Relaxed),
            faults: page.faults.load(Relaxed),
            allocations: page.allocations.load(Relaxed),
            allocated_bytes: page.allocated_bytes.load(Relaxed),
            leaks: page.leaks.load(Relaxed),
        }
    }

    /// What the supervisor and the kernel measured of a batch. Everything that only the worker can
    /// report is 0, except the state that it admits to have left changed.
    pub(crate) fn by_supervisor(start_ns: u64, outer_ns: u64, used_ns: u64, leaks: u32) -> Ran {
        Ran {
            start_ns,
            wall_ns: outer_ns,
            cpu_ns: used_ns,
            own_ns: used_ns,
            outer_ns,
            used_ns,
            leaks,
            ..Ran::default()
        }
    }
}
