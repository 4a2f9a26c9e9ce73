//! A thread of a specimen's own, which computes pieces in parallel with the caller.

use super::piece::Piece;
use crate::clock::monotonic_ns;
use proofmark_contract::KernelError;
use rustix::thread::CpuSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::thread::Thread;

const IDLE: u32 = 0;
const GIVEN: u32 = 1;

/// How a helper behaves.
#[derive(Clone, Copy)]
pub(super) struct Habits {
    /// Nanoseconds that it looks for more work after a piece before it sleeps.
    pub(super) spins_ns: u64,
    /// Nanoseconds that it lets pass before it begins with a piece.
    pub(super) delays_ns: u64,
    /// Where it runs.
    pub(super) place: Place,
}

/// Where a helper runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Where the worker may run.
    Inherited,
    /// On any processor, whatever the worker was told.
    Anywhere,
    /// Always on one and the same, of those that the worker has.
    OneProcessor,
}

impl Habits {
    /// A helper that sleeps soon, on any processor.
    pub(super) const HIDDEN: Habits =
        Habits { spins_ns: 20_000, delays_ns: 0, place: Place::Anywhere };
    /// A helper that behaves like a thread of a pool.
    pub(super) const POOLED: Habits =
        Habits { spins_ns: 20_000, delays_ns: 0, place: Place::Inherited };
}

struct Shared {
    state: AtomicU32,
    piece: AtomicPtr<Piece>,
}

/// A thread that waits for pieces; it ends with the process.
pub(super) struct Helper {
    shared: Arc<Shared>,
    thread: Thread,
}

impl Helper {
    /// Starts the thread.
    pub(super) fn start(habits: Habits) -> Result<Helper, KernelError> {
        let piece = AtomicPtr::new(std::ptr::null_mut());
        let shared = Arc::new(Shared { state: AtomicU32::new(IDLE), piece });
        let theirs = Arc::clone(&shared);
        let started = std::thread::Builder::new().spawn(move || serve(&theirs, habits));
        let handle = started.map_err(|error| KernelError::Refused(error.to_string()))?;
        Ok(Helper { shared, thread: handle.thread().clone() })
    }

    /// Whether it has nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.shared.state.load(Ordering::Acquire) == IDLE
    }

    /// Gives it a piece to compute, which must not be used until it is idle again.
    pub(super) fn give(&self, piece: &mut Piece) {
        self.shared.piece.store(piece, Ordering::Relaxed);
        self.shared.state.store(GIVEN, Ordering::Release);
        self.thread.unpark();
    }

    /// Waits until it is done.
    pub(super) fn wait(&self) {
        let mut rounds = 0u32;
        while !self.is_idle() {
            rounds += 1;
            if rounds > 2000 {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }
}

fn serve(shared: &Shared, habits: Habits) {
    match habits.place {
        Place::Inherited => {}
        Place::Anywhere => run_anywhere(),
        Place::OneProcessor => stay_on_one(),
    }
    loop {
        let since = monotonic_ns();
        while shared.state.load(Ordering::Acquire) != GIVEN {
            if monotonic_ns() - since > habits.spins_ns {
                std::thread::park();
            } else {
                std::hint::spin_loop();
            }
        }
        spin_for(habits.delays_ns);
        // SAFETY: the code that gave the piece leaves it alone until this thread is idle again, and
        // keeps it for the life of the process.
        if let Some(piece) = unsafe { shared.piece.load(Ordering::Relaxed).as_mut() } {
            // What is wrong with a piece is wrong with the call that it was cut from.
            let _ = piece.run();
        }
        shared.state.store(IDLE, Ordering::Release);
    }
}

/// Lets the calling thread run on every processor that the system allows.
pub(super) fn run_anywhere() {
    let mut all = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
    // Where it is refused the thread stays where it is.
    let _ = rustix::thread::sched_setaffinity(None, &all);
}

/// Keeps the calling thread on the first processor that it may use.
fn stay_on_one() {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return };
    let mut one = CpuSet::new();
    if let Some(cpu) = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)) {
        one.set(cpu);
        // Where it is refused the thread stays where it is.
        let _ = rustix::thread::sched_setaffinity(None, &one);
    }
}

/// Uses the processor for `ns` nanoseconds.
pub(super) fn spin_for(ns: u64) {
    if ns == 0 {
        return;
    }
    let start = monotonic_ns();
    while monotonic_ns() - start < ns {
        std::hint::spin_loop();
    }
}
