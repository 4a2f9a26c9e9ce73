//! From records to findings. Pure.
//!
//! Nothing here reads a clock or a file: the same records give the same findings, byte for byte.
#![forbid(unsafe_code)]

mod band;
mod findings;
#[cfg(test)]
mod fixture;
mod glob;
pub mod metrics;
pub mod policy;
mod step;
mod winner;

pub use band::Band;
pub use findings::{exit_severity, findings};
pub use glob::is_match;
pub use metrics::{Better, METRICS, Metric};
pub use step::{Side, Step, steps};
pub use winner::{Winner, winner};
