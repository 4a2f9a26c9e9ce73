//! What this computer is and can do now: facts, load, probes, limits.
//!
//! Everything here reads the machine and changes nothing on it, except the time slices of a thread
//! that asks for short ones. Nothing reads the environment:
//! a cap on instruction sets or a folder to check comes from the caller.

mod activity;
mod clock;
mod counters;
pub mod doctor;
mod facts;
mod kernel_text;
mod load;
pub mod probe;
mod processor;
mod time_slice;

pub use activity::{Activity, StealWatch, activity};
pub use clock::unix_seconds;
pub use doctor::{Check, doctor};
pub use facts::{facts, second_cache_bytes};
pub use load::load;
pub use probe::{Ask, Ceilings, Demand, Effort, probe};
pub use time_slice::ask_for_short_time_slices;
