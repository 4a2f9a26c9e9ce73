//! Both processors of a hand-over awake, where the supervisor's clock is the time of a batch.
//!
//! A processor that has nothing to run goes to sleep, and on a virtual machine the hypervisor takes
//! it away. Waking it up again takes up to 100 µs, in which the supervisor's clock runs. A thread
//! of the lowest class therefore keeps the worker's processor busy until the worker runs, and the
//! supervisor waits for the end on another processor without sleeping.

use crate::clock::monotonic_ns;
use proofmark_schema::wire::{HandOver, turn};
use rustix::thread::{CpuSet, futex, sched_getaffinity, sched_setaffinity};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::thread::JoinHandle;

/// What the thread does: the words of its futex.
const RESTS: u32 = 0;
const ASKED: u32 = 1;
const SPINS: u32 = 2;
const ENDS: u32 = 3;

/// How long the thread is waited for. On a busy processor it does not get to run, and need not.
const START_NS: u64 = 200_000;
/// How long the supervisor looks for its turn before it sleeps: several slices.
const LOOK_NS: u64 = 20_000_000;
/// Looks between two readings of the clock.
const LOOKS: u32 = 64;

/// A thread that keeps one processor awake on demand. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Awake {
    cpu: usize,
    word: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
}

impl Awake {
    /// Prepares to keep a processor awake. There is nothing to gain where this process has no other
    /// processor to wait on, or the system gives no such thread.
    pub(crate) fn on(cpu: usize) -> Option<Arc<Awake>> {
        let allowed = sched_getaffinity(None).ok()?;
        without(allowed, cpu)?;
        let word = Arc::new(AtomicU32::new(RESTS));
        let own = Arc::clone(&word);
        let thread = std::thread::Builder::new().name("awake".into()).stack_size(64 * 1024);
        // A thread that cannot have the lowest class would take the worker's time: it ends.
        let body = move || settle_on(cpu).map_or((), |()| keep_awake(&own));
        let thread = thread.spawn(body).ok()?;
        Some(Arc::new(Awake { cpu, word, thread: Some(thread) }))
    }

    fn tell(&self, what: u32) {
        self.word.store(what, Release);
        // Fails for no valid address.
        let _ = futex::wake(&self.word, futex::Flags::PRIVATE, 1);
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.tell(ENDS);
        if let Some(thread) = self.thread.take() {
            // A loop that does nothing does not panic.
            let _ = thread.join();
        }
    }
}

/// A time in which the processor is awake and the calling thread is on another one.
#[derive(Debug)]
pub(crate) struct Watch {
    awake: Arc<Awake>,
    /// Where the calling thread may run otherwise.
    before: Option<CpuSet>,
}

impl Watch {
    /// Moves the calling thread away from the processor and wakes the processor up.
    pub(crate) fn start(awake: Arc<Awake>) -> Watch {
        let before = sched_getaffinity(None).ok();
        if let Some(others) = before.and_then(|set| without(set, awake.cpu)) {
            // Where it stays, the hand-over is only slower.
            let _ = sched_setaffinity(None, &others);
        }
        awake.tell(ASKED);
        let start = monotonic_ns();
        while awake.word.load(Acquire) == ASKED && monotonic_ns() - start < START_NS {
            std::hint::spin_loop();
        }
        Watch { awake, before }
    }

    /// Looks for the supervisor's turn without sleeping, for a while.
    pub(crate) fn look_for_turn(&self, page: &HandOver) {
        let start = monotonic_ns();
        loop {
            for _ in 0..LOOKS {
                if page.turn.load(Acquire) == turn::SUPERVISOR {
                    return;
                }
                std::hint::spin_loop();
            }
            if monotonic_ns() - start > LOOK_NS {
                return;
            }
        }
    }
}

impl Drop for Watch {
    /// Lets both rest.
    fn drop(&mut self) {
        self.awake.word.store(RESTS, Release);
        if let Some(before) = &self.before {
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// The set without a processor; none where nothing is left of it.
fn without(mut set: CpuSet, cpu: usize) -> Option<CpuSet> {
    if cpu < CpuSet::MAX_CPU {
        set.unset(cpu);
    }
    (set.count() > 0).then_some(set)
}

/// Puts the calling thread on a processor, in the class that runs only where nothing else does.
fn settle_on(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(rustix::io::Errno::INVAL.into());
    }
    let mut own = CpuSet::new();
    own.set(cpu);
    sched_setaffinity(None, &own)?;
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: reads the record and changes the class of this thread alone.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const priority) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn keep_awake(word: &AtomicU32) {
    loop {
        match word.load(Acquire) {
            // Unless it was told something else meanwhile.
            ASKED => drop(word.compare_exchange(ASKED, SPINS, AcqRel, Acquire)),
            SPINS => std::hint::spin_loop(),
            RESTS => {
                // Woken, interrupted or too late: the word is read again in any case.
                let _ = futex::wait(word, futex::Flags::PRIVATE, RESTS, None);
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn processors() -> Vec<usize> {
        let allowed = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect()
    }

    #[test]
    fn the_caller_is_elsewhere_while_it_watches_and_back_afterwards() {
        let all = processors();
        let [.., cpu] = all[..] else { panic!("there is a processor") };
        let Some(awake) = Awake::on(cpu) else {
            assert_eq!(all.len(), 1, "with two processors one is free to wait on");
            return;
        };
        for _ in 0..3 {
            let watch = Watch::start(Arc::clone(&awake));
            assert!(!processors().contains(&cpu));
            drop(watch);
            assert_eq!(processors(), all);
        }
    }

    #[test]
    fn the_thread_spins_between_start_and_end_and_ends_with_its_owner() {
        let Some(awake) = processors().last().and_then(|&cpu| Awake::on(cpu)) else { return };
        let word = Arc::clone(&awake.word);
        let watch = Watch::start(awake);
        // A busy machine may let it wait, but not for ever.
        for _ in 0..2000 {
            if word.load(Acquire) == SPINS {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(word.load(Acquire), SPINS);
        drop(watch);
        assert_eq!(word.load(Acquire), ENDS, "the last owner is gone");
        assert_eq!(Arc::strong_count(&word), 1, "the thread has ended");
    }

    #[test]
    fn a_turn_is_seen_and_one_that_does_not_come_is_not_waited_for() {
        let Some(awake) = processors().last().and_then(|&cpu| Awake::on(cpu)) else { return };
        let watch = Watch::start(awake);
        let page = HandOver::default();
        watch.look_for_turn(&page);
        page.turn.store(turn::WORKER, Release);
        let start = monotonic_ns();
        watch.look_for_turn(&page);
        assert!(monotonic_ns() - start > LOOK_NS);
    }

    #[test]
    fn one_processor_is_not_kept_from_its_only_user() {
        let mut only = CpuSet::new();
        only.set(3);
        assert!(without(only, 3).is_none() && without(only, 2) == Some(only));
        assert!(without(only, usize::MAX) == Some(only));
    }
}
