//! The clock of the probes; no other file of this crate reads one.

use std::time::Instant;

/// The seconds that `work` takes.
#[expect(clippy::disallowed_methods, reason = "probes time the machine itself")]
pub(crate) fn seconds_of(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}
