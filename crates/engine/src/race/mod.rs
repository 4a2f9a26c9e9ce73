//! The third phase: programs are made ready, proven contenders are raced, and what follows from a
//! race is decided.

mod artefact;
mod benches;
mod decided;
mod family;
mod field;
mod in_process;
mod isolated;
mod places;
mod revision;

pub(crate) use artefact::Stand;
pub use artefact::{Built, Here, Programs};
pub(crate) use decided::{decided, looks_for};
pub(crate) use family::{Evidence, third_round, two_rounds};
pub(crate) use field::{race_field, refused_while_measured, tell_new_inputs};
pub(crate) use in_process::{call_ns, fork_join_ns};
pub use isolated::regime;
pub(crate) use isolated::{at, check_cache, isolated};
pub(crate) use revision::io_error;
