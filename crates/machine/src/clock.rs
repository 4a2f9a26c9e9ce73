//! The clocks of this crate; no other file of it reads one.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The seconds that `work` takes.
#[expect(clippy::disallowed_methods, reason = "probes time the machine itself")]
pub(crate) fn seconds_of(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// Seconds since 1970 (UTC), from which the age of a probe is computed.
#[expect(clippy::disallowed_methods, reason = "a probe says when it was made")]
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
