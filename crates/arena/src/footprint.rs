//! The state of a worker's process as the kernel reports it, to find what its contender changed.

use crate::descendants;
use rustix::process::Pid;
use std::fs;
use std::path::PathBuf;

/// Number of files that a contender may open and keep before it is reported: libraries keep some.
const FILES: usize = 16;
/// Number of bytes that it may print before it is reported.
const PRINTED_BYTES: u64 = 64 * 1024;

/// The state of a process at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    processors: String,
    blocked_signals: String,
    ignored_signals: String,
    nice: String,
    limits: String,
    folder: Option<PathBuf>,
    files: usize,
    children: usize,
    printed_bytes: u64,
}

impl Footprint {
    pub(crate) fn of(pid: Pid, printed_bytes: u64) -> Footprint {
        let path = |name: &str| format!("/proc/{}/{name}", pid.as_raw_nonzero());
        let text = |name: &str| fs::read_to_string(path(name)).unwrap_or_default();
        let status = text("status");
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim().to_owned()
        };
        let stat = text("stat");
        // The name may contain any character, so fields are counted from its end. The nice value is
        // field 17 after it.
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        Footprint {
            processors: field("Cpus_allowed_list:"),
            blocked_signals: field("SigBlk:"),
            ignored_signals: field("SigIgn:"),
            nice: rest.split(' ').nth(16).unwrap_or_default().to_owned(),
            limits: text("limits"),
            folder: fs::read_link(path("cwd")).ok(),
            files: fs::read_dir(path("fd")).map_or(0, Iterator::count),
            children: descendants::children(pid).len(),
            printed_bytes,
        }
    }

    /// What was changed since an earlier moment, in words.
    pub fn changes(&self, earlier: &Footprint) -> Vec<String> {
        let mut changes = Vec::new();
        let mut tell = |is_changed: bool, words: String| {
            if is_changed {
                changes.push(words);
            }
        };
        let (was, is) = (&earlier.processors, &self.processors);
        tell(was != is, format!("the calling thread may run on processors {is} instead of {was}"));
        tell(
            earlier.blocked_signals != self.blocked_signals
                || earlier.ignored_signals != self.ignored_signals,
            "signals are blocked or ignored".to_owned(),
        );
        let (was, is) = (&earlier.nice, &self.nice);
        tell(was != is, format!("its priority is {is} instead of {was}"));
        tell(earlier.limits != self.limits, "its resource limits are others".to_owned());
        tell(earlier.folder != self.folder, "its working folder is another".to_owned());
        let files = self.files.saturating_sub(earlier.files);
        tell(files > FILES, format!("{files} files are left open"));
        let children = self.children.saturating_sub(earlier.children);
        tell(children > 0, format!("processes that it started still run: {children}"));
        let printed = self.printed_bytes.saturating_sub(earlier.printed_bytes);
        tell(printed > PRINTED_BYTES, format!("it printed {} KiB", printed / 1024));
        changes
    }
}

/// Whether any thread of a process may run elsewhere than on this processor.
pub(crate) fn is_outside(pid: Pid, cpu: usize) -> bool {
    let folder = format!("/proc/{}/task", pid.as_raw_nonzero());
    let Ok(threads) = fs::read_dir(folder) else { return false };
    let granted = cpu.to_string();
    threads.flatten().any(|thread| {
        // A thread that has ended meanwhile has no status.
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        allowed.is_some_and(|allowed| allowed.trim() != granted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::CpuSet;

    #[test]
    fn a_thread_that_may_run_on_other_processors_is_seen() {
        let own = rustix::process::getpid();
        let allowed = rustix::thread::sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).unwrap();
        if allowed.count() > 1 {
            assert!(is_outside(own, first));
        }
        assert!(is_outside(own, CpuSet::MAX_CPU + 1));
    }

    #[test]
    fn nothing_has_changed_of_a_process_that_does_nothing() {
        let own = Footprint::of(rustix::process::getpid(), 0);
        assert!(!own.processors.is_empty() && own.nice.parse::<i32>().is_ok(), "{own:?}");
        assert_eq!(own.changes(&own), Vec::<String>::new());
    }

    #[test]
    fn every_change_is_told_and_small_ones_are_not() {
        let before = Footprint::of(rustix::process::getpid(), 0);
        let after = Footprint {
            processors: "63".to_owned(),
            blocked_signals: "ff".to_owned(),
            nice: "7".to_owned(),
            limits: "none".to_owned(),
            folder: None,
            files: before.files + 17,
            children: before.children + 1,
            printed_bytes: 1 << 20,
            ..before.clone()
        };
        assert_eq!(after.changes(&before).len(), 8, "{:?}", after.changes(&before));
        let little = Footprint { files: before.files + 3, printed_bytes: 100, ..before.clone() };
        assert_eq!(little.changes(&before), Vec::<String>::new());
    }
}
