//! The judged side: loads a contender and runs it on command.
//!
//! A worker is a process that calls [`serve`] with the ops it knows and the socket it was started
//! with. Its supervisor tells it what to do; `proofmark-arena` describes the protocol. Everything
//! here runs in one process with code that may be wrong, so it keeps little, trusts the page it
//! shares with the supervisor for nothing but commands, and reports its own death.

mod allocator;
mod batch;
mod cache;
mod change;
mod channel;
mod clock;
mod contender;
mod copy;
pub mod corpus;
mod guarded;
mod operands;
mod page;
mod plant;
mod processor;
mod rulers;
mod sampling;
mod serve;
mod settled;
mod signals;

pub use allocator::CountingAllocator;
pub use plant::Plant;
pub use serve::{Known, ServeError, serve};
