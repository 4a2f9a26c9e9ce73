//! Waiting for a worker: asleep on the futex, and between sleeps a look at its limits.

use crate::Limits;
use crate::clock::monotonic_ns;
use crate::output::Output;
use crate::process::{Ending, Process};
use proofmark_schema::wire::{HandOver, turn};
use rustix::thread::futex;
use rustix::time::Timespec;
use std::sync::atomic::Ordering;

/// First sleep and longest sleep. Neither side spins here: on a small machine the waiting side
/// would take the time of the measured one. Where both have a processor of their own and the
/// supervisor's clock is the time, [`crate::awake`] comes first.
const FIRST_SLEEP_NS: i64 = 5_000_000;
const LONGEST_SLEEP_NS: i64 = 10_000_000;
/// Sleep while the worker prints faster than its pipe holds.
const FLOOD_SLEEP_NS: i64 = 1_000_000;
/// Less processor time than this in the whole of `Limits::silence` counts as none.
const FLAT_CPU_NS: u64 = 2_000_000;
/// A worker whose handler has reported a crash is gone within this.
const DYING_MS: i64 = 500;

/// Why the wait was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GaveUp {
    /// The worker ended.
    Ended(Ending),
    /// It took too much processor time.
    Cpu,
    /// It took too long.
    Wall,
    /// It neither answered nor worked.
    Silence,
    /// It took too much memory.
    Memory,
}

/// What was used when the wait became long.
struct Watch {
    start_ns: u64,
    start_cpu_ns: u64,
    flat_since_ns: u64,
    flat_cpu_ns: u64,
    /// Processor time of the processes that it has started, when it was last read.
    descendants_ns: u64,
}

/// Waits until the turn is the supervisor's again.
pub(crate) fn wait_for_turn(
    page: &HandOver,
    process: &Process,
    output: &mut Output,
    limits: &Limits,
    memory_bytes: u64,
) -> Result<(), GaveUp> {
    let mut sleep_ns = FIRST_SLEEP_NS;
    let mut watch = None;
    loop {
        // Whatever value a broken worker wrote is waited on, so that it cannot make us spin.
        let seen = page.turn.load(Ordering::Acquire);
        if seen == turn::SUPERVISOR {
            return Ok(());
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: sleep_ns };
        // Woken, interrupted, too late or timed out: the word is read again in any case.
        let _ = futex::wait(&page.turn, futex::Flags::empty(), seen, Some(&timeout));
        if page.turn.load(Ordering::Acquire) == turn::SUPERVISOR {
            return Ok(());
        }
        let has_crashed = page.signal.load(Ordering::Acquire) != 0;
        let ending = if has_crashed { process.await_end(DYING_MS) } else { process.ending() };
        if let Some(ending) = ending {
            return Err(GaveUp::Ended(ending));
        }
        let is_flooded = output.drain();
        sleep_ns = if is_flooded { FLOOD_SLEEP_NS } else { LONGEST_SLEEP_NS };
        check(&mut watch, process, limits, memory_bytes)?;
    }
}

fn check(
    watch: &mut Option<Watch>,
    process: &Process,
    limits: &Limits,
    memory_bytes: u64,
) -> Result<(), GaveUp> {
    let (now, cpu) = (monotonic_ns(), process.cpu_ns().unwrap_or(0));
    // The watch starts here and not before the first sleep, so that a short batch pays for no
    // clock. A long batch is given a few milliseconds more.
    let watch = watch.get_or_insert(Watch {
        start_ns: now,
        start_cpu_ns: cpu,
        flat_since_ns: now,
        flat_cpu_ns: cpu,
        descendants_ns: 0,
    });
    if cpu.saturating_sub(watch.flat_cpu_ns) > FLAT_CPU_NS {
        (watch.flat_cpu_ns, watch.flat_since_ns) = (cpu, now);
    }
    let over = |used: u64, limit: std::time::Duration| u128::from(used) > limit.as_nanos();
    if process.resident_bytes() > memory_bytes {
        return Err(GaveUp::Memory);
    }
    if over(cpu.saturating_sub(watch.start_cpu_ns), limits.cpu) {
        return Err(GaveUp::Cpu);
    }
    if over(now.saturating_sub(watch.flat_since_ns), limits.silence) {
        // It may wait for a compiler that it has started, and that takes long on a busy machine.
        // Only living processes count, so that the sum also falls when one of them ends.
        let used = process.descendants_ns();
        if used.abs_diff(watch.descendants_ns) <= FLAT_CPU_NS {
            return Err(GaveUp::Silence);
        }
        (watch.descendants_ns, watch.flat_since_ns) = (used, now);
    }
    if over(now.saturating_sub(watch.start_ns), limits.wall) {
        return Err(GaveUp::Wall);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::Pid;
    use std::os::unix::process::CommandExt;
    use std::time::Duration;

    /// Why the wait for a shell that runs `script` is given up.
    #[expect(clippy::disallowed_methods, reason = "the process stands for a worker")]
    #[expect(clippy::zombie_processes, reason = "`Process` reaps it")]
    fn given_up(script: &str) -> GaveUp {
        let mut shell = std::process::Command::new("sh");
        let child = shell.args(["-c", script]).process_group(0).spawn().unwrap();
        let process = Process::new(Pid::from_child(&child)).unwrap();
        let silence = Duration::from_millis(300);
        let limits = Limits { silence, wall: 5 * silence, ..Limits::default() };
        let mut watch = None;
        loop {
            if let Err(reason) = check(&mut watch, &process, &limits, u64::MAX) {
                return reason;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_worker_that_waits_for_a_process_at_work_is_not_silent() {
        let works = "sh -c 'while :; do :; done' & wait";
        assert_eq!(given_up(works), GaveUp::Wall);
        assert_eq!(given_up("sleep 60 & wait"), GaveUp::Silence);
    }
}
