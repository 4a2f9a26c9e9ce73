//! The worker's clocks, and what the kernel counts for the calling thread.

use rustix::time::{ClockId, clock_gettime};

fn ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds on the monotonic clock.
pub(crate) fn monotonic_ns() -> u64 {
    ns(ClockId::Monotonic)
}

/// Processor time of the calling thread.
pub(crate) fn thread_cpu_ns() -> u64 {
    ns(ClockId::ThreadCPUTime)
}

/// What disturbs a measurement, counted since the thread began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disturbance {
    pub(crate) involuntary_switches: i64,
    pub(crate) page_faults: i64,
}

/// The calling thread's count.
pub(crate) fn disturbance() -> Disturbance {
    // SAFETY: a record of integers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid place to write to for the duration of the call.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    Disturbance {
        involuntary_switches: usage.ru_nivcsw,
        page_faults: usage.ru_minflt + usage.ru_majflt,
    }
}
