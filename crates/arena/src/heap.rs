//! The supervisor's own memory: kept between the stages of a proof, given back after it.
//!
//! A proof of a large case makes vectors of hundreds of MiB for every call. The C library maps
//! each afresh and unmaps it when it is freed, so that the kernel clears every page of it again.
//! Workers are never touched: how they get their memory is part of what is measured.

/// Keeps the memory that this process frees until [`give_back_memory`]. Threads that start later
/// share the first thread's heap, because large blocks do not fit into heaps of their own.
pub fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: each call sets a number under the allocator's own lock, and refuses what it does not
    // know; no memory changes hands.
    unsafe {
        libc::mallopt(libc::M_MMAP_MAX, 0);
        // The greatest threshold that there is, so that memory is never trimmed.
        libc::mallopt(libc::M_TRIM_THRESHOLD, -1);
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Gives freed memory back to the system, because other processes are measured next.
pub fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: only pages that the allocator has free are given back, under its own lock.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;

    /// Resident pages of this process.
    fn resident() -> u64 {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Makes the C library give all threads of a process one heap.
    const ONE_HEAP: &str = "MALLOC_ARENA_MAX";

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test starts itself with another setting")]
    fn freed_memory_stays_until_it_is_given_back() {
        // A test runs in a thread of its own, which has its own heap before the test can ask for a
        // shared one.
        if std::env::var_os(ONE_HEAP).is_none() {
            let name = "heap::tests::freed_memory_stays_until_it_is_given_back";
            let mut again = std::process::Command::new(std::env::current_exe().unwrap());
            let ended = again.args(["--exact", name]).env(ONE_HEAP, "1").output().unwrap();
            let said = String::from_utf8_lossy(&ended.stdout).into_owned();
            assert!(ended.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        const BYTES: usize = 256 << 20;
        let pages = (BYTES >> 12) as u64;
        keep_freed_memory();
        let before = resident();
        drop(std::hint::black_box(vec![1u8; BYTES]));
        let kept = resident();
        assert!(kept > before + pages / 2, "{before} {kept} of {pages}");
        give_back_memory();
        let after = resident();
        assert!(after + pages / 2 < kept, "{kept} {after} of {pages}");
    }
}
