//! Times proven contenders side by side.
//!
//! A race is made of trials (fresh worker processes, one random layout for all arms), a trial of
//! blocks (ABBA or BAAB, or their like for more arms), a block of slices (timed batches of
//! about 100 µs). Exactly one worker runs at a time; the others sleep on a futex.
#![forbid(unsafe_code)]

mod clock;
mod order;
mod race;
mod rules;
mod ruling;
#[cfg(test)]
mod scripted;
mod stable;
mod summary;

pub use clock::{Clock, MonotonicClock};
pub use race::{RaceFault, race};
pub use rules::RaceRules;
pub use ruling::{rule, ruling_of};
pub use summary::{compare, time_of_call};
