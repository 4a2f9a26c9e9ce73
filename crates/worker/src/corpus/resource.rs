//! Class H: crashes, hangs, and taking all there is; each is bounded.

use super::kernel::Deed;
use std::hint::black_box;
use std::io::Write;
use std::ptr::{without_provenance_mut, write_volatile};
use std::sync::Mutex;

pub(super) fn segv() -> Deed {
    Deed::new(|_, _| {
        // SAFETY: none; that is the fault being planted.
        unsafe { write_volatile(without_provenance_mut::<u8>(8), 1) };
        Ok(())
    })
}

pub(super) fn abort() -> Deed {
    Deed::new(|_, _| std::process::abort())
}

pub(super) fn sigill() -> Deed {
    Deed::new(|_, _| {
        // SAFETY: none; that is the fault being planted.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!("ud2", options(nomem, nostack));
        }
        Ok(())
    })
}

pub(super) fn spin() -> Deed {
    Deed::new(|_, _| {
        loop {
            std::hint::spin_loop();
        }
    })
}

/// Waits for a lock that it holds.
pub(super) fn deadlock() -> Deed {
    Deed::new(|_, _| {
        let lock = Mutex::new(0);
        let held = lock.lock();
        let again = lock.lock();
        drop((held, again));
        Ok(())
    })
}

/// Asks for 100 GiB; where they are granted, none of them is touched.
pub(super) fn alloc_100g() -> Deed {
    Deed::new(|full, call| {
        black_box(Vec::<u8>::with_capacity(100 << 30));
        full.run(call)
    })
}

/// Loses a mebibyte in each call, until the worker's limit.
pub(super) fn leak() -> Deed {
    Deed::new(|full, call| {
        std::mem::forget(black_box(vec![1u8; 1 << 20]));
        full.run(call)
    })
}

/// Leaves a child process behind, which sleeps for at most a minute.
pub(super) fn fork_left() -> Deed {
    let mut is_left = false;
    Deed::new(move |full, call| {
        if !std::mem::replace(&mut is_left, true) {
            // SAFETY: the child makes system calls only: it dies with its parent, and after a
            // minute in any case.
            unsafe {
                if libc::fork() == 0 {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    libc::sleep(60);
                    libc::_exit(0);
                }
            }
        }
        full.run(call)
    })
}

/// Opens a file in each call and keeps it.
pub(super) fn fd_leak() -> Deed {
    Deed::new(|full, call| {
        let file = std::fs::File::open("/dev/null");
        let file = file.map_err(|error| {
            proofmark_contract::KernelError::Refused(format!("opening a file: {error}"))
        })?;
        std::mem::forget(file);
        full.run(call)
    })
}

/// Prints 64 KiB in each call.
pub(super) fn stdout_flood() -> Deed {
    Deed::new(|full, call| {
        let _ = std::io::stdout().write_all(&[b'x'; 1 << 16]);
        full.run(call)
    })
}

/// Writes a mebibyte to a file in each call; the file has no name, so that it goes with the
/// worker, whose limit it reaches after 64 calls.
pub(super) fn fill_disk() -> Deed {
    let mut file = None;
    Deed::new(move |full, call| {
        if file.is_none() {
            let _ = std::fs::create_dir_all(super::folder());
            let name = super::folder().join(format!("filled-{}", std::process::id()));
            file = std::fs::File::create(&name).ok();
            let _ = std::fs::remove_file(&name);
        }
        if let Some(file) = &mut file {
            let chunk = vec![7u8; 1 << 20];
            file.write_all(&chunk).map_err(|error| {
                proofmark_contract::KernelError::Refused(format!("writing a file: {error}"))
            })?;
        }
        full.run(call)
    })
}
