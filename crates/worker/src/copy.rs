//! Copies of a process that has loaded much: each is a worker of its own, with the same parent.

use rustix::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use rustix::process::{Pid, Signal};
use rustix::thread::CpuSet;
use std::io;

/// The two processes after a copy was made.
pub(crate) enum Side {
    /// The one that was asked.
    Original {
        /// The copy's number.
        pid: i32,
    },
    /// The copy, with the socket that it must serve.
    Copy {
        /// The socket.
        control: RawFd,
    },
}

/// Copies this process as `fork` does, but as a child of this process's parent. That is the
/// supervisor, which can then wait for the copy as for any worker.
///
/// There must be no thread but this one: only the calling thread is in the copy, and a lock that
/// another thread held at that moment would never be released.
pub(crate) fn copy(control: &OwnedFd, printed: &OwnedFd, cpu: Option<usize>) -> io::Result<Side> {
    if !is_possible() {
        return Err(io::Error::other("the library has started threads while it was loaded"));
    }
    let parent = rustix::process::getppid();
    let flags = (libc::CLONE_PARENT | libc::SIGCHLD) as libc::c_ulong;
    // SAFETY: without a stack of its own and without CLONE_VM the copy goes on from here in a
    // copy of this memory, as after `fork`; this is the only thread.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match i32::try_from(pid).unwrap_or(-1) {
        -1 => Err(io::Error::last_os_error()),
        // A copy that cannot be set up must not go on as if it were the original.
        0 => Ok(Side::Copy { control: enter(parent, control, printed, cpu).unwrap_or_else(end) }),
        pid => Ok(Side::Original { pid }),
    }
}

/// Makes the copy a worker's process.
fn enter(
    parent: Option<Pid>,
    control: &OwnedFd,
    printed: &OwnedFd,
    cpu: Option<usize>,
) -> io::Result<RawFd> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() != parent {
        // The supervisor ended before the line above took effect.
        return Err(rustix::io::Errno::SRCH.into());
    }
    rustix::process::setpgid(None, None)?;
    for standard in [1, 2] {
        // SAFETY: the copy's own standard output and error are replaced by an open pipe.
        if unsafe { libc::dup2(printed.as_raw_fd(), standard) } != standard {
            return Err(io::Error::last_os_error());
        }
    }
    if let Some(cpu) = cpu.filter(|&cpu| cpu < CpuSet::MAX_CPU) {
        let mut set = CpuSet::new();
        set.set(cpu);
        rustix::thread::sched_setaffinity(None, &set)?;
    }
    Ok(rustix::io::dup(control)?.into_raw_fd())
}

/// Ends a copy after it has served, or could not.
#[expect(clippy::disallowed_methods, reason = "a copy must not return into the original's work")]
pub(crate) fn end<E, T>(_: E) -> T {
    std::process::exit(0)
}

/// Whether this is the only thread.
pub(crate) fn is_possible() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}
