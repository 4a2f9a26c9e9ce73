//! A child process that computes a piece on command, outside the worker's process group.

use super::helper::run_anywhere;
use super::piece::Piece;
use crate::clock::monotonic_ns;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::sync::atomic::{AtomicU32, Ordering};

const IDLE: u32 = 0;
const GIVEN: u32 = 1;
const ENDS: u32 = 2;

/// How long it waits for a command until it ends by itself: longer than a proof takes between two
/// calls.
const PATIENCE_NS: u64 = 30_000_000_000;
/// How long it looks for a command before it sleeps between looks.
const SPINS_NS: u64 = 20_000;

/// A child with a piece of its own; it ends with its parent, when it is dropped, or after some
/// seconds without a command.
pub(super) struct Child {
    word: *mut AtomicU32,
    pid: i32,
}

// SAFETY: the word is an atomic in shared memory, and the rest a number.
unsafe impl Send for Child {}

impl Child {
    /// Starts a child; `None` where the system refuses one.
    pub(super) fn start(piece: &mut Piece) -> Option<Child> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory at an address of the system's choice.
        let memory =
            unsafe { mmap_anonymous(std::ptr::null_mut(), 4096, access, MapFlags::SHARED) };
        let word = memory.ok()?.cast::<AtomicU32>();
        // SAFETY: the child calls only what needs no lock that another thread may hold: it
        // computes in memory that it has and makes system calls.
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: mapped above, and never unmapped in this process.
                serve(unsafe { &*word }, piece)
            }
            -1 => None,
            pid => Some(Child { word, pid }),
        }
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: mapped until this is dropped; any bits are a valid atomic.
        unsafe { &*self.word }
    }

    /// Tells it to compute; returns whether it is still there to do so.
    pub(super) fn go(&self) -> bool {
        self.word().compare_exchange(IDLE, GIVEN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Waits until it is done, or dead.
    pub(super) fn wait(&self) {
        let start = monotonic_ns();
        while self.word().load(Ordering::Acquire) == GIVEN {
            if monotonic_ns() - start > PATIENCE_NS {
                return;
            }
            std::hint::spin_loop();
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.word().store(ENDS, Ordering::Release);
        // SAFETY: waits for the child that this made; it ends at once.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
        // SAFETY: mapped by `start`, and no longer used by anything.
        let _ = unsafe { munmap(self.word.cast(), 4096) };
    }
}

fn serve(word: &AtomicU32, piece: &mut Piece) -> ! {
    // SAFETY: makes this process die with its parent and leave the group; nothing else changes.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::setsid();
    }
    run_anywhere();
    let mut since = monotonic_ns();
    loop {
        match word.load(Ordering::Acquire) {
            GIVEN => {
                let _ = piece.run();
                // Unless it was told to end meanwhile.
                let _ = word.compare_exchange(GIVEN, IDLE, Ordering::AcqRel, Ordering::Acquire);
                since = monotonic_ns();
            }
            IDLE if monotonic_ns() - since < SPINS_NS => std::hint::spin_loop(),
            IDLE if monotonic_ns() - since < PATIENCE_NS => {
                std::thread::sleep(std::time::Duration::from_micros(20));
            }
            IDLE => {
                // Unless a command has come meanwhile.
                let _ = word.compare_exchange(IDLE, ENDS, Ordering::AcqRel, Ordering::Acquire);
            }
            // SAFETY: ends this process without running what its parent registered.
            _ => unsafe { libc::_exit(0) },
        }
    }
}
