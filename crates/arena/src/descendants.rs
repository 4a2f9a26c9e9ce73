//! Processes that a worker has started: what they use, and their end.

use crate::clock::ProcessClock;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};
use std::collections::BTreeSet;
use std::fs;
use std::sync::{Mutex, Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The workers that this process has started and not ended yet.
static WORKERS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// The environment variable that every worker has and that every process it starts inherits.
pub(crate) const MARK: &str = "PROOFMARK_PAD";

/// Notes that a worker is in this process's charge. What it leaves behind becomes a child of this
/// process, so that it can be found.
pub(crate) fn add_worker(pid: Pid) {
    static ADOPTS: Once = Once::new();
    // Where the kernel refuses, orphans go to the first process of the system, which is the
    // default.
    ADOPTS.call_once(|| {
        let own = rustix::process::getpid();
        let _ = rustix::process::set_child_subreaper(Some(own));
    });
    workers(|known| known.insert(pid.as_raw_nonzero().get()));
}

/// Held while a worker is started and is not yet in [`WORKERS`], so that the sweep for leftovers
/// does not end it.
static STARTING: RwLock<()> = RwLock::new(());

/// Keeps the sweep for leftovers away while a worker is started.
pub(crate) fn starting() -> RwLockReadGuard<'static, ()> {
    STARTING.read().unwrap_or_else(PoisonError::into_inner)
}

/// The same while a worker copies itself, and keeps every other start away as well.
pub(crate) fn starting_alone() -> RwLockWriteGuard<'static, ()> {
    STARTING.write().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a process is a worker in this process's charge.
pub(crate) fn is_worker(pid: Pid) -> bool {
    workers(|known| known.contains(&pid.as_raw_nonzero().get()))
}

/// Notes that a worker has ended, and ends the processes that workers have left behind. While
/// another worker is being started, this sweep is left to the next worker that ends.
pub(crate) fn remove_worker(pid: Pid) {
    workers(|known| known.remove(&pid.as_raw_nonzero().get()));
    let Ok(_none_is_starting) = STARTING.try_write() else { return };
    let own = rustix::process::getpid();
    for child in children(own) {
        if !is_worker(child) && is_marked(child) {
            end(child);
        }
    }
}

/// Processor time of all processes that descend from this one.
pub(crate) fn cpu_ns(pid: Pid) -> u64 {
    let mut total = 0;
    let mut open = children(pid);
    // The bound ends the walk of a tree that grows while it is walked.
    for _ in 0..1000 {
        let Some(next) = open.pop() else { break };
        total += ProcessClock::of(next).ok().and_then(ProcessClock::ns).unwrap_or(0);
        open.extend(children(next));
    }
    total
}

fn workers<T>(of: impl FnOnce(&mut BTreeSet<i32>) -> T) -> T {
    of(&mut WORKERS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The children of all threads of a process, where the kernel lists them.
pub(crate) fn children(pid: Pid) -> Vec<Pid> {
    let tasks = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()));
    let lists = tasks.into_iter().flatten().flatten();
    let listed = lists.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let numbers = |list: String| -> Vec<Pid> {
        let words = list.split_whitespace();
        words.filter_map(|word| Pid::from_raw(word.parse().ok()?)).collect()
    };
    listed.flat_map(numbers).collect()
}

/// Whether a process was started by a worker, or is one.
fn is_marked(pid: Pid) -> bool {
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()));
    let begins = |entry: &[u8]| {
        entry.strip_prefix(MARK.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
    };
    environment.is_ok_and(|all| all.split(|&byte| byte == 0).any(begins))
}

/// Ends a child of this process and reaps it.
fn end(pid: Pid) {
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let _ = pidfd_send_signal(&pidfd, Signal::KILL);
    let _ = waitid(WaitId::PidFd(rustix::fd::AsFd::as_fd(&pidfd)), WaitIdOptions::EXITED);
}
