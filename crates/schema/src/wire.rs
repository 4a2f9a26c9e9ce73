//! What supervisor and worker say to each other: messages, and the page they hand over.

use crate::memory::Probe;
use crate::{Cache, Case, ContenderId, DType, ErrorContract, Receipt};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// Greatest length of one message on the socket.
pub const MESSAGE_LIMIT: usize = 128 * 1024;

/// One operand as the worker must map it; its memory file is sent with the message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperandMap {
    /// Name in the op's signature.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Sizes along each axis.
    pub shape: Vec<usize>,
    /// Elements from one row to the next (a row is the last axis).
    pub row_stride: usize,
    /// Bytes of the memory file.
    pub file_bytes: usize,
    /// Byte of the file where element 0 of the first set lies.
    pub offset_bytes: usize,
    /// Sets of the operand in the file.
    pub sets: usize,
    /// Bytes from one set to the next.
    pub set_bytes: usize,
    /// What its address must be a multiple of.
    pub align_bytes: usize,
    /// The kernel may write it.
    pub writable: bool,
    /// The worker changes it between calls, through a mapping that the kernel is not given.
    pub changes: bool,
}

/// From the supervisor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum ToWorker {
    /// Load a contender for a case, before any input exists.
    Load {
        /// The contender.
        contender: ContenderId,
        /// The case.
        case: Case,
        /// Threads it may use.
        threads: usize,
        /// Bytes to allocate first, so that its heap moves.
        heap_pad: usize,
    },
    /// Map the operands; one memory file each, in the same order.
    Attach {
        /// The operands in the order of the op's signature.
        operands: Vec<OperandMap>,
        /// What the caches must hold before every timed call.
        cache: Cache,
    },
    /// Change the thread count of the loaded contender.
    Threads {
        /// Threads it may use from now on.
        threads: usize,
    },
    /// Pack the weights, outside the timed part. Answered by `Done`.
    Prepare,
    /// Load what every case of a contender needs, so that the process can be copied. Answered by
    /// `Done`, or by `Unsupported` where that would save nothing.
    Warm {
        /// The contender.
        contender: ContenderId,
    },
    /// Make a copy of this process that serves the socket sent with this message, prints to the
    /// pipe sent after the socket, and is a child of the supervisor. Answered by `Copied`.
    Copy {
        /// The processor the copy is pinned to.
        cpu: Option<usize>,
    },
    /// Time loads of sampled lines in the state of the caches. Answered by `Probed`.
    Probe,
}

/// From the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum FromWorker {
    /// The process is up.
    Ready {
        /// The protocol it speaks; see [`PROTOCOL`].
        protocol: u64,
    },
    /// The contender is loaded.
    Loaded {
        /// What it reports about itself.
        receipt: Box<Receipt>,
        /// What it promises.
        contract: ErrorContract,
        /// Bytes of scratch memory it works in.
        workspace_bytes: usize,
        /// Bytes of packed weights; 0 if it packs none.
        prepared_bytes: usize,
        /// Results come into the outputs after the clock has stopped, by an adapter of this
        /// program.
        settles: bool,
    },
    /// It does not do this case.
    Unsupported {
        /// Why.
        reason: String,
    },
    /// Its library is here and does not open.
    Broken {
        /// Why.
        reason: String,
    },
    /// The times of the loads; nothing if this machine cannot measure them.
    Probed {
        /// Medians over the lines.
        probe: Option<Probe>,
    },
    /// A copy of the process runs.
    Copied {
        /// Its number.
        pid: i32,
    },
    /// The last message was carried out.
    Done,
    /// The last message, or the kernel's call, failed with this message.
    Failed {
        /// What it said.
        reason: String,
    },
}

/// Whose turn it is: the page's futex word.
pub mod turn {
    /// The supervisor may read answers and write commands.
    pub const SUPERVISOR: u32 = 0;
    /// The worker must run the batch.
    pub const WORKER: u32 = 1;
    /// The worker must end.
    pub const QUIT: u32 = 2;
    /// The worker must read one message from the socket and answer it there.
    pub const MESSAGE: u32 = 3;
    /// The worker must read the rulers: all of them where `calls` is not 0, else the short ones.
    pub const RULERS: u32 = 4;
}

/// How a batch ended.
pub mod status {
    /// All calls returned.
    pub const OK: u32 = 0;
    /// A call returned an error; its text is on the socket.
    pub const KERNEL_ERROR: u32 = 1;
    /// A call panicked; its text is on the socket.
    pub const PANICKED: u32 = 2;
}

/// What the worker was doing, for crash reports; see [`crate::crash::Phase`].
pub mod phase {
    /// Waiting for the next command.
    pub const IDLE: u32 = 0;
    /// Loading the contender.
    pub const LOAD: u32 = 1;
    /// Packing weights.
    pub const PREPARE: u32 = 2;
    /// Inside the kernel.
    pub const CALL: u32 = 3;
    /// After the clock has stopped: results that lie elsewhere come into the outputs.
    pub const SETTLE: u32 = 4;
}

/// State of the processor that a kernel must leave as it found it, as bits of `leaks`.
pub mod leak {
    /// MXCSR control bits (rounding, FTZ, DAZ, masks) changed.
    pub const MXCSR: u32 = 1;
    /// Upper halves of vector registers left dirty.
    pub const VECTOR_UPPER: u32 = 2;
    /// AMX tiles left live.
    pub const AMX: u32 = 4;
    /// x87 control word or tag word changed.
    pub const X87: u32 = 8;

    /// The names of the set bits.
    pub fn names(bits: u32) -> Vec<&'static str> {
        [
            (MXCSR, "MXCSR changed"),
            (VECTOR_UPPER, "vzeroupper missing"),
            (AMX, "AMX tiles left live"),
            (X87, "x87 state changed"),
        ]
        .into_iter()
        .filter(|(bit, _)| bits & bit != 0)
        .map(|(_, name)| name)
        .collect()
    }
}

/// Words of 64 bits in the file of a worker that samples itself.
pub mod samples {
    /// Samples a second that are asked for.
    pub const HERTZ: usize = 0;
    /// Samples since the supervisor's last look, those without room counted.
    pub const TAKEN: usize = 1;
    /// The first of their addresses.
    pub const FIRST: usize = 2;
}

/// Bits of [`HandOver::options`].
pub mod option {
    /// Check the processor's state after every call, not only after the batch.
    pub const CHECK_EACH_CALL: u32 = 1;
    /// Fill the workspace with rubbish before the batch.
    pub const DIRTY_WORKSPACE: u32 = 2;
    /// Nothing but the calls runs between the clock readings. It serves to measure the overhead of
    /// a batch.
    pub const BARE: u32 = 4;
    /// Before every call one input element changes and one output element is spoiled; what the
    /// call leaves there goes into the ledger.
    pub const PERTURB: u32 = 8;
    /// Before every call all inputs change; every call is timed alone.
    pub const FRESH: u32 = 16;
    /// Weights do not change: they were packed before.
    pub const KEEP_WEIGHTS: u32 = 32;
    /// With `FRESH`: only one call of each pair finds new inputs, the other those of the call
    /// before it, after the same stores.
    pub const AUDIT: u32 = 64;
}

/// The page that supervisor and worker share: a turn, a command, an answer, a crash report.
///
/// Every field is atomic because a hostile or dying worker may write it at any time; the
/// supervisor reads it as numbers that bound nothing by themselves.
#[repr(C)]
#[derive(Debug, Default)]
pub struct HandOver {
    /// Whose turn it is (see [`turn`]); the futex word.
    pub turn: AtomicU32,
    /// Calls to make before the clock starts.
    pub prime: AtomicU32,
    /// Calls to make in the batch.
    pub calls: AtomicU32,
    /// See [`option`].
    pub options: AtomicU32,
    /// Pattern of the rubbish for the workspace.
    pub dirt: AtomicU32,
    /// Seed of what changes between the calls.
    pub perturbation_seed: AtomicU64,

    /// See [`status`].
    pub status: AtomicU32,
    /// See [`leak`].
    pub leaks: AtomicU32,
    /// Involuntary switches of the calling thread during the batch.
    pub switches: AtomicU32,
    /// Page faults of the calling thread during the batch.
    pub faults: AtomicU32,
    /// Heap allocations of the process during the batch.
    pub allocations: AtomicU32,
    /// Start of the batch on the monotonic clock.
    pub start_ns: AtomicU64,
    /// The batch on the worker's clock.
    pub wall_ns: AtomicU64,
    /// CPU time of the calling thread during the timed calls.
    pub cpu_ns: AtomicU64,
    /// CPU time of the calling thread since the last batch.
    pub own_ns: AtomicU64,
    /// The fastest call on new inputs, where calls are timed one by one; else 0.
    pub alone_ns: AtomicU64,
    /// The fastest call of an audit on the inputs of the call before it; else 0.
    pub same_ns: AtomicU64,
    /// Bytes that the allocations asked for.
    pub allocated_bytes: AtomicU64,
    /// Time to copy results that lie elsewhere into the outputs, after the batch.
    pub settle_ns: AtomicU64,
    /// Calls of the batch whose events a device has kept; 0 on the host.
    pub device_calls: AtomicU32,
    /// The time of their kernels on the device's clock.
    pub device_kernel_ns: AtomicU64,
    /// The time of moving their operands on the device's clock.
    pub device_copy_ns: AtomicU64,
    /// Times of the rulers, in the order of `Ruler::ALL`; 0 for one that was not read.
    pub ruler_ns: [AtomicU64; 3],

    /// See [`phase`].
    pub phase: AtomicU32,
    /// Which call of the batch runs, from 0.
    pub call: AtomicU32,
    /// Signal that ended the worker; 0 while it lives.
    pub signal: AtomicI32,
    /// The signal's code.
    pub signal_code: AtomicI32,
    /// The fault address.
    pub fault_address: AtomicU64,
    /// The instruction that faulted.
    pub fault_instruction: AtomicU64,
    /// The stack pointer when it faulted: a fault near it is a stack overflow.
    pub stack_pointer: AtomicU64,
    /// Bytes of the last allocation that the memory limit refused; 0 if none was.
    pub refused_bytes: AtomicU64,
    /// Where operand `i` was mapped in the worker (element 0), so that addresses can be named.
    pub operand_base: [AtomicU64; MAX_OPERANDS],
}

/// What each call of a perturbed batch left at its spoiled place: the aligned word of 8 bytes that
/// holds the element. It lies in the same file, after the page.
#[repr(C)]
#[derive(Debug)]
pub struct Ledger {
    /// One for each call, untimed ones first.
    pub kept: [AtomicU64; LEDGER_CALLS],
}

/// Maximum number of calls of a perturbed batch.
pub const LEDGER_CALLS: usize = 8192;
pub use proofmark_terms::MAX_OPERANDS;
/// Byte of the shared file where the ledger begins.
pub const LEDGER_OFFSET: usize = 4096;
/// Bytes of the shared file.
pub const PAGE_BYTES: usize = LEDGER_OFFSET + size_of::<Ledger>();
const _: () = assert!(size_of::<HandOver>() <= LEDGER_OFFSET);

/// A hash of everything that supervisor and worker must agree on: the source of the messages, the
/// page and the types in them, without comments. A worker of another hash is refused when it is
/// greeted, because it would read the page by other offsets.
pub const PROTOCOL: u64 = hash_of_code(&[
    include_bytes!("wire.rs"),
    include_bytes!("contender.rs"),
    include_bytes!("device.rs"),
    include_bytes!("memory.rs"),
    proofmark_terms::SOURCES[0],
    proofmark_terms::SOURCES[1],
    proofmark_terms::SOURCES[2],
]);

/// FNV-1a over the lines before the tests that are not comments, without the spaces at their
/// beginning.
const fn hash_of_code(files: &[&[u8]]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut file = 0;
    while file < files.len() {
        let text = files[file];
        let mut at = 0;
        while at < text.len() {
            while at < text.len() && (text[at] == b' ' || text[at] == b'\n') {
                at += 1;
            }
            if begins_with(text, at, b"#[cfg(test)]") {
                break;
            }
            let is_comment = begins_with(text, at, b"//");
            while at < text.len() && text[at] != b'\n' {
                if !is_comment {
                    hash = (hash ^ text[at] as u64).wrapping_mul(0x0000_0100_0000_01b3);
                }
                at += 1;
            }
        }
        file += 1;
    }
    hash
}

const fn begins_with(text: &[u8], at: usize, word: &[u8]) -> bool {
    let mut same = 0;
    while same < word.len() && at + same < text.len() && text[at + same] == word[same] {
        same += 1;
    }
    same == word.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_does_not_change_the_protocol_and_a_field_does() {
        let of = |text: &str| hash_of_code(&[text.as_bytes()]);
        let before = of("struct Page {\n    turn: u32,\n}\n");
        assert_eq!(before, of("// The page.\nstruct Page {\n    // Whose.\n    turn: u32,\n}"));
        assert_eq!(before, of("struct Page {\n    turn: u32,\n}\n#[cfg(test)]\nmod tests {}"));
        assert_ne!(before, of("struct Page {\n    turn: u32,\n    more: u32,\n}\n"));
    }
}
