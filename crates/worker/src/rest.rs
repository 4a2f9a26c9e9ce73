//! The moment that threads of a library need to fall asleep.

use crate::clock::{monotonic_ns, process_cpu_ns, thread_cpu_ns};
use std::fs;
use std::time::Duration;

/// When the threads are looked after first (twice as long after each look, so that looking costs
/// little), what they may use between two looks, and when it is no longer waited for: who is awake
/// then is found out by the supervisor.
const FIRST_LOOK: Duration = Duration::from_micros(20);
const ASLEEP_NS: u64 = 3_000;
const PATIENCE_NS: u64 = 3_000_000;

/// Waits until the other threads of this process use no processor time: pools of threads look for
/// more work for some tens of microseconds, which would be taken from the one whose turn is next.
pub(crate) fn until_threads_sleep() {
    let others = || process_cpu_ns().saturating_sub(thread_cpu_ns());
    let start = monotonic_ns();
    let (mut used, mut pause) = (others(), FIRST_LOOK);
    while monotonic_ns() - start < PATIENCE_NS {
        std::thread::sleep(pause);
        let now = others();
        // One that waits for a processor uses none either.
        if now.saturating_sub(used) <= ASLEEP_NS && !is_another_awake() {
            return;
        }
        (used, pause) = (now, pause * 2);
    }
}

/// Whether another thread of this process runs or waits for a processor.
fn is_another_awake() -> bool {
    let own = rustix::thread::gettid().as_raw_nonzero().to_string();
    let is_awake = |task: fs::DirEntry| {
        let state = fs::read_to_string(task.path().join("stat")).ok()?;
        // The name before it may have any character in it.
        Some(task.file_name() != *own && state.rsplit_once(") ")?.1.starts_with('R'))
    };
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    tasks.flatten().filter_map(is_awake).any(|is_awake| is_awake)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_thread_that_spins_is_awake_and_one_that_sleeps_is_not() {
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let is_awake = is_another_awake();
            ends.store(true, Ordering::Relaxed);
            assert!(is_awake);
        });
        std::thread::scope(|scope| {
            scope.spawn(|| std::thread::sleep(Duration::from_secs(1)));
            std::thread::sleep(Duration::from_millis(50));
            assert!(!is_another_awake());
        });
    }
}
