//! The supervisor's clock, and the processor time that another process has used.

use rustix::process::Pid;
use rustix::time::{ClockId, clock_gettime};
use std::io;

/// Nanoseconds on the monotonic clock, which does not count suspensions.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The clock that counts the processor time of all threads of another process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessClock(libc::clockid_t);

impl ProcessClock {
    pub(crate) fn of(pid: Pid) -> io::Result<ProcessClock> {
        let mut id = 0;
        // SAFETY: `id` is a valid place to write to for the duration of the call.
        let error = unsafe { libc::clock_getcpuclockid(pid.as_raw_nonzero().get(), &raw mut id) };
        if error == 0 { Ok(ProcessClock(id)) } else { Err(io::Error::from_raw_os_error(error)) }
    }

    /// Processor time used so far; `None` once the process is gone.
    pub(crate) fn ns(self) -> Option<u64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a valid place to write to for the duration of the call.
        let error = unsafe { libc::clock_gettime(self.0, &raw mut time) };
        (error == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}
