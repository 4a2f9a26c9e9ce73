//! What a worker may use before it is ended.

use std::time::Duration;

const GIB: u64 = 1 << 30;

/// Limits of one worker. Processor time is the main limit; the others catch what it does not see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Processor time of one batch or message, all threads together.
    pub cpu: Duration,
    /// Wall-clock time for the same. It is lax because a busy machine makes honest kernels late.
    pub wall: Duration,
    /// A worker that gives no answer and uses no processor time for this long has a deadlock.
    pub silence: Duration,
    /// Memory of the worker's own, operands not counted.
    pub memory_bytes: u64,
}

impl Default for Limits {
    /// 20 s of processor time, 60 s of wall-clock time, 10 s of silence, and 60 % of the memory
    /// that is available now, at most 8 GiB.
    fn default() -> Limits {
        Limits {
            cpu: Duration::from_secs(20),
            wall: Duration::from_secs(60),
            silence: Duration::from_secs(10),
            memory_bytes: available_memory().map_or(GIB, |bytes| (bytes / 5 * 3).min(8 * GIB)),
        }
    }
}

/// Operations a second that even a slow kernel reaches. A plain loop does about ten times as many,
/// and about this many with subnormal numbers.
const SLOW_RATE: f64 = 2e8;

impl Limits {
    /// These limits for calls of `operations` operations. A large case without vector instructions
    /// takes minutes, and a kernel that takes that long does not hang.
    pub(crate) fn for_calls_of(self, operations: u64) -> Limits {
        let more = Duration::from_secs_f64(operations as f64 / SLOW_RATE);
        Limits { cpu: self.cpu + more, wall: self.wall + 3 * more, ..self }
    }

    /// These limits for loading a third-party library. It may read gigabytes from a disk and run
    /// compilers, whose processor time is not the worker's own.
    pub(crate) fn patient(self) -> Limits {
        Limits {
            cpu: self.cpu * 6,
            wall: self.wall * 5,
            silence: self.silence.max(self.wall * 2),
            ..self
        }
    }
}

/// What the system could give without swapping.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    status_bytes(&text, "MemAvailable:")
}

/// The bytes of a `Name:   123 kB` line.
pub(crate) fn status_bytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines_are_read_in_kibibytes() {
        let text = "Name:\tx\nVmHWM:\t     812 kB\nThreads:\t1\n";
        assert_eq!(status_bytes(text, "VmHWM:"), Some(812 * 1024));
        assert_eq!(status_bytes(text, "VmRSS:"), None);
        assert_eq!(status_bytes(text, "Threads:"), None);
    }

    #[test]
    fn a_call_of_many_operations_has_time_for_them() {
        let limits = Limits::default();
        assert_eq!(limits.for_calls_of(0), limits);
        let more = limits.for_calls_of(34_359_738_368);
        let (cpu, wall) = (more.cpu.as_secs(), more.wall.as_secs());
        assert!((180..240).contains(&cpu) && wall > 2 * cpu, "{cpu} s, {wall} s on the wall");
        assert_eq!(more.silence, limits.silence, "who uses no processor time hangs all the same");
    }

    #[test]
    fn default_memory_leaves_the_host_two_fifths() {
        let available = available_memory().unwrap();
        let limit = Limits::default().memory_bytes;
        assert!(limit > 0 && limit <= 8 * GIB && limit < available);
    }
}
