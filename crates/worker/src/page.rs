//! The page shared with the supervisor, reachable from a signal handler.

use proofmark_schema::wire::{HandOver, LEDGER_OFFSET, Ledger, PAGE_BYTES, turn};
use proofmark_tensor::{Access, Mapping};
use rustix::fd::BorrowedFd;
use rustix::thread::futex;
use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

static PAGE: AtomicPtr<HandOver> = AtomicPtr::new(null_mut());

/// The page, once there is one. Safe in a signal handler.
pub(crate) fn current() -> Option<&'static HandOver> {
    // SAFETY: either null or the page that `map` has leaked.
    unsafe { PAGE.load(Ordering::Acquire).as_ref() }
}

/// Maps the page for the rest of the process's life.
pub(crate) fn map(file: BorrowedFd<'_>) -> io::Result<&'static HandOver> {
    let mapping = Mapping::of_file(file, PAGE_BYTES, Access::ReadWrite)?;
    let page = mapping.base().cast::<HandOver>();
    std::mem::forget(mapping);
    PAGE.store(page, Ordering::Release);
    // SAFETY: `PAGE_BYTES` bytes hold a `HandOver`; they are page aligned, never unmapped, any
    // bits are valid atomics, and both sides use atomics only.
    Ok(unsafe { &*page })
}

/// The ledger behind the page.
pub(crate) fn ledger(page: &'static HandOver) -> &'static Ledger {
    let at = std::ptr::from_ref(page).wrapping_byte_add(LEDGER_OFFSET).cast::<Ledger>();
    // SAFETY: `map` has mapped `PAGE_BYTES` bytes behind every page there is, of which the ledger
    // is the last part; any bits are valid atomics.
    unsafe { &*at }
}

/// Waits until it is not the supervisor's turn; says what to do.
pub(crate) fn wait_for_turn(page: &HandOver) -> u32 {
    loop {
        let seen = page.turn.load(Ordering::Acquire);
        if seen != turn::SUPERVISOR {
            return seen;
        }
        // Woken, interrupted or too late: the word is read again in any case.
        let _ = futex::wait(&page.turn, futex::Flags::empty(), turn::SUPERVISOR, None);
    }
}

/// Hands the turn back.
pub(crate) fn hand_back(page: &HandOver) {
    page.turn.store(turn::SUPERVISOR, Ordering::Release);
    wake(page);
}

/// Wakes the supervisor without handing it the turn. Safe in a signal handler.
pub(crate) fn wake(page: &HandOver) {
    // The only failure is a bad address, which cannot occur here.
    let _ = futex::wake(&page.turn, futex::Flags::empty(), 1);
}
