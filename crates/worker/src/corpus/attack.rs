//! Class D: specimens that attack the harness and do the work: only the attack can be named.
//!
//! All of them are honest until calls come in rows, as in races. They are harmless where they
//! succeed. They are planted at T3, which promises to hold against them.

use super::harness::Rows;
use super::helper::run_anywhere;
use super::kernel::Deed;
use crate::page;
use proofmark_contract::{Call, KernelError};
use proofmark_schema::wire::{FromWorker, HandOver, turn};
use rustix::fd::BorrowedFd;
use rustix::net::{SendFlags, send};
use std::fs::OpenOptions;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Descriptors that are looked at: more than a worker may have.
const DESCRIPTORS: i32 = 1024;

/// A deed that attacks before calls of a race, once or in each of them, and computes.
fn in_races(once: bool, mut attack: impl FnMut() + Send + 'static) -> Deed {
    let (mut rows, mut has_tried) = (Rows::default(), false);
    Deed::new(move |full, call| {
        if rows.is_race() && !(once && std::mem::replace(&mut has_tried, true)) {
            attack();
        }
        let done = full.run(call);
        rows.returns();
        done
    })
}

/// A thread halves the time in the hand-over page as soon as one is written.
pub(super) fn forged_claim() -> Deed {
    in_races(true, || {
        let Some(page) = page::current() else { return };
        // Where the system gives no thread, nothing is forged.
        let _ = std::thread::Builder::new().spawn(|| halve_claims(page));
    })
}

fn halve_claims(page: &HandOver) {
    run_anywhere();
    let mut forged = page.wall_ns.load(Relaxed);
    loop {
        let claimed = page.wall_ns.load(Relaxed);
        if claimed != forged {
            forged = claimed / 2;
            page.wall_ns.store(forged, Relaxed);
        }
        std::hint::spin_loop();
    }
}

/// Hands the turn back before it computes, so that the supervisor's clock stops early.
pub(super) fn forged_bell() -> Deed {
    in_races(false, || {
        let Some(page) = page::current() else { return };
        page.turn.store(turn::SUPERVISOR, Release);
        page::wake(page);
    })
}

/// Overwrites the page: no time, no calls, no faults, no signal.
pub(super) fn control_page_scribble() -> Deed {
    in_races(false, || {
        let Some(page) = page::current() else { return };
        for word in [&page.wall_ns, &page.cpu_ns, &page.own_ns, &page.start_ns, &page.settle_ns] {
            word.store(1, Relaxed);
        }
        for word in [&page.calls, &page.prime, &page.options, &page.call, &page.switches] {
            word.store(0, Relaxed);
        }
    })
}

/// Sends an answer through every descriptor, one of which leads to the supervisor.
pub(super) fn fd_scan_forge() -> Deed {
    in_races(true, || {
        let answer = serde_json::to_vec(&FromWorker::Done).unwrap_or_default();
        for number in 3..DESCRIPTORS {
            // SAFETY: a number that is not open, or not a socket, is refused by the kernel; none is
            // closed here.
            let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
            let _ = send(descriptor, &answer, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
    })
}

/// Reads the supervisor's memory, where the truth about the results is.
pub(super) fn vm_readv_expected() -> Deed {
    in_races(true, || {
        let mut bytes = [0u8; 4096];
        let ours = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let theirs = libc::iovec { iov_base: (1 << 22) as *mut _, iov_len: bytes.len() };
        // SAFETY: writes at most so many bytes to the local buffer, and only reads the other
        // process's memory.
        unsafe {
            libc::process_vm_readv(supervisor(), &raw const ours, 1, &raw const theirs, 1, 0);
        }
    })
}

/// Opens the supervisor's memory as a file.
pub(super) fn proc_mem() -> Deed {
    in_races(true, || {
        drop(OpenOptions::new().read(true).open(format!("/proc/{}/mem", supervisor())));
    })
}

/// Asks to trace the supervisor.
pub(super) fn ptrace_parent() -> Deed {
    in_races(true, || {
        // SAFETY: touches no memory. Where it is permitted, the supervisor runs on.
        unsafe { libc::ptrace(libc::PTRACE_SEIZE, supervisor(), 0, 0) };
    })
}

/// Signals the supervisor; the signal is 0, which only asks whether it may.
pub(super) fn signal_parent() -> Deed {
    in_races(true, || {
        // SAFETY: touches no memory and delivers no signal.
        unsafe { libc::kill(supervisor(), 0) };
    })
}

/// Opens the program that it runs in for writing. Later workers run the same file.
pub(super) fn replace_files() -> Deed {
    let mut has_tried = false;
    Deed::new(move |full, call| {
        if !std::mem::replace(&mut has_tried, true)
            && let Ok(program) = std::fs::read_link("/proc/self/exe")
        {
            drop(OpenOptions::new().append(true).open(program));
        }
        full.run(call)
    })
}

/// Ends the process as if all were done.
pub(super) fn exit0() -> Deed {
    let mut rows = Rows::default();
    Deed::new(move |full, call: &mut Call<'_>| -> Result<(), KernelError> {
        if rows.is_race() {
            // SAFETY: ends this process without running what it has registered.
            unsafe { libc::_exit(0) };
        }
        let done = full.run(call);
        rows.returns();
        done
    })
}

fn supervisor() -> i32 {
    rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get())
}
