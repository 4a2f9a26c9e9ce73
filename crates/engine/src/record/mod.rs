//! The last phase: what was proven and raced becomes records, and records become a run.

mod limits;
mod performance;
mod records;
mod run_log;

pub(crate) use limits::ceilings;
pub use limits::probe_machine;
pub(crate) use records::{raced, refused};
pub(crate) use run_log::RunLog;
