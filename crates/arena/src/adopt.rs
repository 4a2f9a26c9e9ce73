//! Takes charge of a copy of a worker. Only the worker itself reports the number of the copy.
//!
//! This process stops, resumes and ends every process that it takes charge of. A hostile worker may
//! name any number, so the kernel must report facts about that process that are true of a copy and
//! of no other process.

use crate::descendants;
use crate::process::Process;
use rustix::fd::AsFd;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::sync::RwLockWriteGuard;

/// A copy that a worker is about to be asked for.
pub(crate) struct Expected {
    original: Pid,
    /// The moment of the request since the start of the system, in the kernel's ticks.
    since_ticks: u64,
    /// No other worker starts meanwhile: it would be a new child as well.
    _alone: RwLockWriteGuard<'static, ()>,
}

impl Expected {
    /// Expects a copy of this worker from now on.
    pub(crate) fn of(original: Pid) -> Expected {
        let alone = descendants::starting_alone();
        Expected { original, since_ticks: ticks_since_boot(), _alone: alone }
    }

    /// Takes charge of the process of this number, if it is the copy. Any other process is left
    /// alone.
    ///
    /// # Errors
    /// If it is not the copy, or cannot be watched.
    pub(crate) fn take(self, number: i32) -> io::Result<Process> {
        let foreign = |why: &str| io::Error::other(format!("process {number} {why}"));
        let pid = (number > 0).then(|| Pid::from_raw(number)).flatten();
        let pid = pid.ok_or_else(|| foreign("cannot exist"))?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        // As long as this process does not reap the child, no other process gets its number.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::PidFd(pidfd.as_fd()), options)
            .map_err(|_| foreign("is not a child of this one"))?;
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat"))?;
        let facts = Facts::of(&stat).ok_or_else(|| foreign("is not described by the kernel"))?;
        // A copy is in the group of its original until it makes one of its own. Programs that this
        // process starts for other purposes are in neither.
        if ![number, self.original.as_raw_nonzero().get()].contains(&facts.group) {
            return Err(foreign("is in the group of another process"));
        }
        if facts.start_ticks < self.since_ticks || descendants::is_worker(pid) {
            return Err(foreign("is older than the request"));
        }
        Process::watch(pid, pidfd)
    }
}

/// What the kernel says of a process to everyone.
#[derive(Debug, PartialEq, Eq)]
struct Facts {
    group: i32,
    start_ticks: u64,
}

impl Facts {
    /// Reads a `stat` file. The process chooses its own name, which may hold spaces and brackets,
    /// so words are counted from the last bracket.
    fn of(stat: &str) -> Option<Facts> {
        let words: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(Facts {
            group: words.get(2)?.parse().ok()?,
            start_ticks: words.get(19)?.parse().ok()?,
        })
    }
}

fn ticks_since_boot() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let hertz = rustix::param::clock_ticks_per_second();
    now.tv_sec as u64 * hertz + now.tv_nsec as u64 * hertz / 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    /// A program that this process has started, in a group of its own or not.
    #[expect(clippy::disallowed_methods, reason = "a process that is no worker")]
    fn sleeper(has_group: bool) -> Child {
        let mut command = Command::new("sleep");
        command.arg("100");
        if has_group {
            command.process_group(0);
        }
        command.spawn().unwrap()
    }

    fn lives(child: &mut Child) -> bool {
        child.try_wait().unwrap().is_none()
    }

    fn expected() -> Expected {
        Expected::of(rustix::process::getpid())
    }

    fn refusal(number: i32) -> String {
        expected().take(number).unwrap_err().to_string()
    }

    #[test]
    fn a_number_that_is_no_child_is_refused_and_left_alone() {
        for number in [0, -1, i32::MIN, i32::MAX] {
            refusal(number);
        }
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        for number in [1, parent, std::process::id() as i32] {
            assert!(refusal(number).contains("is not a child"), "{number}");
            assert!(std::fs::exists(format!("/proc/{number}")).unwrap());
        }
    }

    #[test]
    fn a_child_from_before_the_request_is_refused_and_lives_on() {
        let mut old = sleeper(true);
        // The kernel's ticks are hundredths of a second.
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(refusal(old.id() as i32).contains("older than the request"));
        assert!(lives(&mut old));
        old.kill().unwrap();
        old.wait().unwrap();
    }

    #[test]
    fn a_new_child_of_another_group_is_refused_and_lives_on() {
        // Were this process the original, its own group would be right.
        let expected = Expected::of(Pid::from_raw(i32::MAX).unwrap());
        let mut other = sleeper(false);
        let refused = expected.take(other.id() as i32).unwrap_err().to_string();
        assert!(refused.contains("is in the group of another process"), "{refused}");
        assert!(lives(&mut other));
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_new_child_is_taken_once_and_ends_with_its_process() {
        let expecting = expected();
        let mut new = sleeper(true);
        let number = new.id() as i32;
        let process = expecting.take(number).unwrap();
        assert!(lives(&mut new));
        assert!(refusal(number).contains("older than the request"), "a worker is no copy");
        drop(process);
        assert!(!std::fs::exists(format!("/proc/{number}")).unwrap());
    }

    #[test]
    fn a_name_with_brackets_hides_nothing() {
        let stat = "7 (a) b (c) S 1 42 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 990 0 0";
        assert_eq!(Facts::of(stat), Some(Facts { group: 42, start_ticks: 990 }));
        assert_eq!(Facts::of("7 (a"), None);
        assert_eq!(Facts::of("7 (a) S 1 2"), None);
    }
}
