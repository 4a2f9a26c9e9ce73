//! This process as a sampler of itself: a timer on its processor time, and a handler that notes
//! where the running thread is. Only the supervisor of a profile asks for it.

use crate::signals;
use proofmark_schema::wire::samples::{FIRST, HERTZ, TAKEN};
use proofmark_tensor::{Access, Mapping};
use rustix::fd::BorrowedFd;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The supervisor's words, as `wire::samples` has them.
static LOG: OnceLock<&'static [AtomicU64]> = OnceLock::new();

/// Samples this process from now on into the supervisor's file, as often as its first word says.
pub(crate) fn start(file: BorrowedFd<'_>) -> io::Result<()> {
    let bytes = rustix::fs::fstat(file)?.st_size as usize;
    let memory = Mapping::of_file(file, bytes, Access::ReadWrite)?;
    // SAFETY: so many bytes are mapped, page aligned and, forgotten below, never unmapped; any
    // bits are valid atomics, and both sides use atomics only.
    let log: &'static [AtomicU64] =
        unsafe { std::slice::from_raw_parts(memory.base().cast(), bytes / size_of::<u64>()) };
    std::mem::forget(memory);
    let Some(hertz) = LOG.get_or_init(|| log).get(HERTZ) else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    // The handler runs on the thread's own stack, because the stacks that threads have for handlers
    // may hold the state of the processor and little more. Interrupted calls go on.
    signals::catch(libc::SIGPROF, note, libc::SA_RESTART)?;
    let every_us = 1_000_000 / hertz.load(Relaxed).clamp(1, 1_000_000);
    let every = libc::timeval {
        tv_sec: (every_us / 1_000_000) as libc::time_t,
        tv_usec: (every_us % 1_000_000) as libc::suseconds_t,
    };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // Not `timer_create`: older kernels give its signals to the first thread, whichever thread
    // runs.
    // SAFETY: reads a record that lives through the call, and writes nothing.
    match unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const timer, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn note(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    if let Some(log) = LOG.get() {
        // SAFETY: the kernel passes a valid context to an SA_SIGINFO handler.
        let (instruction, _) = unsafe { signals::registers(&*context.cast()) };
        write_down(log, instruction);
    }
}

/// Notes an address, or only counts it where there is no room. Safe in a signal handler, on any
/// thread: no lock, no allocation, no system call.
fn write_down(log: &[AtomicU64], instruction: u64) {
    let Some(taken) = log.get(TAKEN) else { return };
    let place = (taken.fetch_add(1, Relaxed) as usize).saturating_add(FIRST);
    if let Some(place) = log.get(place) {
        place.store(instruction, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_keeps_what_it_has_and_counts_the_rest() {
        let log = [const { AtomicU64::new(0) }; 5];
        (11..15).for_each(|instruction| write_down(&log[..4], instruction));
        assert_eq!(log.map(AtomicU64::into_inner), [0, 4, 11, 12, 0]);
        write_down(&[], 11);
    }
}
