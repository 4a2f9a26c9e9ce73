//! A worker's process: whether it lives, what it uses, and its certain end.

use crate::clock::ProcessClock;
use crate::descendants;
use crate::limits::status_bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, pidfd_open,
    pidfd_send_signal, waitid,
};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It returned this code.
    Exit(i32),
    /// This signal ended it.
    Signal(i32),
}

/// A process that leads its own group. Dropping it ends the group and reaps the process.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    pidfd: OwnedFd,
    clock: ProcessClock,
    /// Kept open: it is read between waits.
    statm: File,
    is_reaped: bool,
}

impl Process {
    /// Takes charge of a child that this process has started; if that fails, the child is ended.
    pub(crate) fn new(pid: Pid) -> io::Result<Process> {
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).inspect_err(|_| {
            // It may be gone already; either way it is reaped.
            let _ = kill_process(pid, Signal::KILL);
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
        })?;
        Process::watch(pid, pidfd)
    }

    /// The same for a child whose descriptor is already open.
    pub(crate) fn watch(pid: Pid, pidfd: OwnedFd) -> io::Result<Process> {
        let facts = || Ok((ProcessClock::of(pid)?, File::open(proc_path(pid, "statm"))?));
        match facts() {
            Ok((clock, statm)) => {
                descendants::add_worker(pid);
                Ok(Process { pid, pidfd, clock, statm, is_reaped: false })
            }
            Err(error) => {
                let _ = pidfd_send_signal(&pidfd, Signal::KILL);
                let _ = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED);
                Err(error)
            }
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// How it ended, if it did. The process is not reaped yet, so that its group keeps its number.
    pub(crate) fn ending(&self) -> Option<Ending> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::PidFd(self.pidfd.as_fd()), options).ok()??;
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Some(Ending::Exit(code)),
            (_, Some(signal)) => Some(Ending::Signal(signal)),
            _ => None,
        }
    }

    /// Waits for its end, for a moment.
    pub(crate) fn await_end(&self, milliseconds: i64) -> Option<Ending> {
        let timeout = Timespec { tv_sec: 0, tv_nsec: milliseconds * 1_000_000 };
        // An interrupted or failed wait only means that the question is asked early.
        let _ = poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&timeout));
        self.ending()
    }

    /// Stops every thread of the group and waits until the process has stopped. The error says how
    /// the process ended, if it ended instead.
    pub(crate) fn stop(&self) -> Result<(), Ending> {
        // Fails only where there is nothing left to stop. A process that has left its group is
        // stopped by itself, or the wait below would not end.
        let _ = kill_process_group(self.pid, Signal::STOP);
        let _ = pidfd_send_signal(&self.pidfd, Signal::STOP);
        let options = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        loop {
            match waitid(WaitId::PidFd(self.pidfd.as_fd()), options) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(Some(status)) if status.stopped() => return Ok(()),
                _ => return self.ending().map_or(Ok(()), Err),
            }
        }
    }

    /// Lets every thread of the group run on.
    pub(crate) fn resume(&self) {
        // Fails only where there is nothing left to resume, which the wait after it finds out.
        let _ = kill_process_group(self.pid, Signal::CONT);
    }

    /// Processor time of all its threads.
    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        self.clock.ns()
    }

    /// How long its first thread has waited for a processor so far; 0 where the kernel does not
    /// say.
    pub(crate) fn waited_ns(&self) -> u64 {
        waited_ns(&proc_path(self.pid, "schedstat"))
    }

    /// Processor time of the processes that it has started and that live.
    pub(crate) fn descendants_ns(&self) -> u64 {
        descendants::cpu_ns(self.pid)
    }

    /// Resident memory now; 0 once it is gone.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let mut text = [0u8; 128];
        let Ok(count) = self.statm.read_at(&mut text, 0) else { return 0 };
        let text = String::from_utf8_lossy(&text[..count]);
        let pages: u64 = text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        pages * rustix::param::page_size() as u64
    }

    /// Greatest resident memory so far; 0 once it is gone.
    pub(crate) fn peak_bytes(&self) -> u64 {
        let text = std::fs::read_to_string(proc_path(self.pid, "status")).unwrap_or_default();
        status_bytes(&text, "VmHWM:").unwrap_or(0)
    }

    /// Bytes of memory files that it has mapped by huge pages, and at all; the page that is handed
    /// over does not count. Zeros once it is gone.
    pub(crate) fn huge_and_mapped_bytes(&self) -> (u64, u64) {
        let text = std::fs::read_to_string(proc_path(self.pid, "smaps")).unwrap_or_default();
        huge_and_mapped_bytes(&text)
    }

    /// Lets the peak start again from what is resident now, where the system permits it.
    pub(crate) fn reset_peak(&self) {
        let _ = std::fs::write(proc_path(self.pid, "clear_refs"), "5");
    }

    /// Ends the process, everything in its group and everything that it has started, and reaps it.
    pub(crate) fn end(&mut self) {
        if self.is_reaped {
            return;
        }
        // The group first, while the process, dead or alive, still holds the group's number.
        // Both fail only where there is nothing left to end.
        let _ = kill_process_group(self.pid, Signal::KILL);
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
        let _ = waitid(WaitId::PidFd(self.pidfd.as_fd()), WaitIdOptions::EXITED);
        self.is_reaped = true;
        descendants::remove_worker(self.pid);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// The sums over the operands' mappings in a list of `smaps`.
fn huge_and_mapped_bytes(smaps: &str) -> (u64, u64) {
    let mut is_operand = false;
    let (mut huge, mut mapped) = (0, 0);
    for line in smaps.lines() {
        // The first line of a mapping has its addresses; those that follow are `Name: value`.
        if line.split(' ').next().is_some_and(|word| !word.ends_with(':')) {
            is_operand = line.contains("/memfd:") && !line.contains("/memfd:hand-over");
        } else if is_operand {
            huge += status_bytes(line, "ShmemPmdMapped:").unwrap_or(0);
            mapped += status_bytes(line, "Rss:").unwrap_or(0);
        }
    }
    (huge, mapped)
}

/// How long the calling thread has waited for a processor so far.
pub(crate) fn own_waited_ns() -> u64 {
    waited_ns("/proc/thread-self/schedstat")
}

/// The second number of a `schedstat` file.
fn waited_ns(path: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn proc_path(pid: Pid, file: &str) -> String {
    format!("/proc/{}/{file}", pid.as_raw_nonzero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_operands_count_as_mapped() {
        let smaps = "\
7f00-7f20 r--s 00000000 00:01 36   /memfd:a (deleted)
Size:               2048 kB
Rss:                2048 kB
ShmemPmdMapped:     2048 kB
VmFlags: rd sh
7f30-7f31 rw-s 00000000 00:01 37   /memfd:hand-over (deleted)
Rss:                   4 kB
7f40-7f44 rw-s 00000000 00:01 38   /memfd:y (deleted)
Rss:                  16 kB
ShmemPmdMapped:        0 kB
7f50-7f54 rw-p 00000000 00:00 0
Rss:                  16 kB
";
        assert_eq!(huge_and_mapped_bytes(smaps), (2048 * 1024, 2064 * 1024));
    }
}
