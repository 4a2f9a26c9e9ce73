//! The supervisor's side of a worker: spawn, shared memory, hand-over page, limits, attribution.
//!
//! A [`Worker`] is a process of its own that runs one contender. The supervisor owns the operands
//! (one memory file each, read-only in the worker where they are inputs), the outer clock and the
//! limits; whatever happens in the worker comes back as a value or as a [`Fault`] that says where.
//!
//! # Protocol
//!
//! Both sides share a page ([`proofmark_schema::wire::HandOver`]) and a socket. The page's `turn`
//! word, a futex, says whose turn it is, and is the only thing either side ever waits on:
//!
//! 1. The first datagram carries the hash of the protocol and the page's memory file. The worker
//!    maps it, waits for its turn, answers `Ready` and hands the turn back. A second file asks the
//!    worker to sample itself and receives the samples (`wire::samples`).
//! 2. A message: the supervisor sends it, then sets `turn` to `MESSAGE`. The worker reads one
//!    datagram, carries it out, sends one answer, then hands the turn back.
//! 3. A batch: the supervisor writes the command into the page and sets `turn` to `WORKER`. The
//!    worker runs it, writes the answer into the page (and its text, if it failed, to the
//!    socket), then hands the turn back. No message is needed, so a batch costs two wake-ups.
//!
//! 4. The rulers: the same with `RULERS`, in a worker that has no contender.
//!
//! A worker of a race is held ([`Worker::hold`]): all of its threads are stopped (SIGSTOP) while it
//! is not its turn.
//!
//! A worker that has loaded a large library (`Warm`) can copy itself (`Copy`). The copies are
//! workers like any other, and children of the supervisor.
//!
//! A worker that dies hands nothing back: its signal handler writes the crash into the page and
//! wakes the supervisor, which looks at the process between waits in any case.

mod adopt;
mod awake;
mod batch;
mod channel;
mod clock;
mod code;
mod crash;
mod descendants;
mod fault;
mod footprint;
mod hashes;
mod heap;
#[cfg(test)]
mod hostile;
mod limits;
mod nursery;
mod operand;
mod output;
mod own_samples;
mod poison;
mod process;
mod regime;
mod ruler;
mod sampler;
mod spawn;
mod wait;
mod worker;

pub use batch::{Batch, Change, Inputs, Ran};
pub use fault::Fault;
pub use footprint::Footprint;
pub use hashes::{keep_hashes_in, sha256};
pub use heap::{give_back_memory, keep_freed_memory};
pub use limits::Limits;
pub use operand::{OperandPlan, Stray, StrayPlace};
pub use own_samples::Noted;
pub use poison::poison_word;
pub use proofmark_sandbox::{Permit, clear_scratch, missing as missing_layers};
pub use regime::Regime;
pub use ruler::{Ruler, RulerTimes};
pub use sampler::{Sample, Sampler};
pub use spawn::{Arena, FixedLayout, Spawn, processor_in_turn};
pub use worker::{Loaded, Worker};
