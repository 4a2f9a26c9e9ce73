//! Times proven contenders side by side.
//!
//! A race is made of trials (fresh worker processes, one random layout for all arms), a trial of
//! blocks (ABBA or BAAB, or similar orders for more arms; ABABAB for long calls), a block of slices
//! (timed batches of about 100 µs, or one long call). Exactly one worker runs at a time; the
//! others are stopped.
#![forbid(unsafe_code)]

mod audit;
mod bare;
mod cache;
mod claims;
mod clock;
mod counting;
mod fault;
#[cfg(test)]
mod hostile;
mod order;
mod pace;
mod quiet;
mod race;
mod ruler;
mod rules;
mod ruling;
#[cfg(test)]
mod scripted;
#[cfg(test)]
mod scripted_rulers;
mod stable;
mod summary;

pub use bare::against_bare_loop;
pub use clock::{Clock, MonotonicClock};
pub use counting::counting;
pub use fault::{FaultKind, RaceFault};
pub use quiet::await_quiet;
pub use race::race;
pub use ruler::{conditions, ruler_stability};
pub use rules::RaceRules;
pub use ruling::{rule, ruling_of};
pub use stable::last_processor;
pub use summary::{compare, ratio_of_first, time_of_call, trial_values};
