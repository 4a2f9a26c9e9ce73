//! The moment that threads of a library need to fall asleep.

use crate::clock::{monotonic_ns, process_cpu_ns, thread_cpu_ns};
use std::time::Duration;

/// How often the threads are looked after, what they may use between two looks, and when it is no
/// longer waited for: who is awake then is found out by the supervisor.
const LOOK: Duration = Duration::from_micros(20);
const ASLEEP_NS: u64 = 3_000;
const PATIENCE_NS: u64 = 3_000_000;

/// Waits until the other threads of this process use no processor time: pools of threads look for
/// more work for some tens of microseconds, which would be taken from the one whose turn is next.
pub(crate) fn until_threads_sleep() {
    let others = || process_cpu_ns().saturating_sub(thread_cpu_ns());
    let start = monotonic_ns();
    let mut used = others();
    while monotonic_ns() - start < PATIENCE_NS {
        std::thread::sleep(LOOK);
        let now = others();
        if now.saturating_sub(used) <= ASLEEP_NS {
            return;
        }
        used = now;
    }
}
