//! A fork-join pool for kernels: helpers spin shortly for the next region, then sleep.

use crate::RowsMut;
use rustix::thread::futex::{Flags, wait, wake};
use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Rounds of spinning before sleeping, a yield after each. Counted, not timed, because the pool
/// must not read a clock: about 30 µs where a pause takes 50 cycles (processors differ, 10 to
/// 140). That is longer than the gap between the regions of one kernel, and short enough that
/// waiting for a thread that lost its core does not hold a core itself.
const SPIN_ROUNDS: usize = 24;
/// Pauses in a round.
const PAUSES: usize = 64;

/// States of a helper's signal word.
mod signal {
    /// Nothing to do; the helper spins.
    pub(super) const IDLE: u32 = 0;
    /// Nothing to do; the helper sleeps on the word.
    pub(super) const ASLEEP: u32 = 1;
    /// The job is there.
    pub(super) const WORK: u32 = 2;
    /// The helper must end.
    pub(super) const END: u32 = 3;
}

/// Bit of [`Shared::running`]: the caller sleeps on the word.
const CALLER_ASLEEP: u32 = 1 << 31;

type Task<'a> = &'a (dyn Fn(usize) + Sync);

/// What the helpers of a region run: helper `i` takes the indices `i`, `i + stride`, ...
#[derive(Clone, Copy)]
struct Job {
    /// The caller's task; its lifetime is erased because the caller waits until every use has
    /// ended.
    task: *const (dyn Fn(usize) + Sync),
    threads: usize,
    stride: usize,
}

/// One helper's signal word, on a cache line of its own.
#[repr(align(128))]
struct Signal(AtomicU32);

struct Shared {
    signals: Vec<Signal>,
    job: UnsafeCell<Option<Job>>,
    /// Helpers that have not finished the region; with [`CALLER_ASLEEP`].
    running: AtomicU32,
    /// The first panic of the region.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `job` is written by the caller while no helper has work, and read by helpers between
// their signal becoming WORK and their decrement of `running`; both orderings are acquire-release.
unsafe impl Sync for Shared {}
// SAFETY: the task pointer in `job` is to a `Sync` closure.
unsafe impl Send for Shared {}

thread_local! {
    /// This thread runs a task: a nested region must not wait for helpers that wait for it.
    static IN_REGION: Cell<bool> = const { Cell::new(false) };
}

/// Threads that run regions together with the calling thread.
pub struct Pool {
    helpers: Option<Helpers>,
    /// Held for a region: two callers take turns.
    turn: Mutex<()>,
}

struct Helpers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("max_threads", &self.max_threads()).finish()
    }
}

impl Pool {
    /// A pool of the caller and `max_threads - 1` helpers; no helpers for 0 and 1.
    ///
    /// # Panics
    /// If the system refuses a thread.
    pub fn new(max_threads: usize) -> Pool {
        Pool::try_new(max_threads).expect("the system gives a thread")
    }

    /// As [`Pool::new`].
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn try_new(max_threads: usize) -> io::Result<Pool> {
        if max_threads <= 1 {
            return Ok(Pool::serial());
        }
        let shared = Arc::new(Shared {
            signals: (1..max_threads).map(|_| Signal(AtomicU32::new(signal::IDLE))).collect(),
            job: UnsafeCell::new(None),
            running: AtomicU32::new(0),
            panic: Mutex::new(None),
        });
        let mut helpers = Helpers { shared, threads: Vec::with_capacity(max_threads - 1) };
        let mut start = |helper: usize| {
            let shared = Arc::clone(&helpers.shared);
            let named = thread::Builder::new().name(format!("pool-{helper}"));
            helpers.threads.push(named.spawn(move || shared.help(helper))?);
            Ok(())
        };
        let started = (1..max_threads).try_for_each(&mut start);
        // Dropped after a failure, it ends the helpers that were started.
        let pool = Pool { helpers: Some(helpers), turn: Mutex::new(()) };
        started.map(|()| pool)
    }

    /// A pool of the caller alone.
    pub const fn serial() -> Pool {
        Pool { helpers: None, turn: Mutex::new(()) }
    }

    /// Threads that run at the same time, the caller counted.
    pub fn max_threads(&self) -> usize {
        self.helpers.as_ref().map_or(1, |helpers| helpers.threads.len() + 1)
    }

    /// Runs `task(0)` to `task(threads - 1)`, each once, and returns when all have returned.
    ///
    /// The caller runs index 0. At most [`Pool::max_threads`] run at the same time: if `threads`
    /// is more, a thread runs several indices, so tasks must not wait for one another. From
    /// inside a task the indices run one after the other on the calling thread.
    ///
    /// # Panics
    /// With the first panic of a task, after all have ended. Where indices share a thread, those
    /// after the one that panicked are not run.
    pub fn run(&self, threads: usize, task: &(dyn Fn(usize) + Sync)) {
        match &self.helpers {
            Some(helpers) if threads > 1 && !IN_REGION.get() => {
                let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
                let panic = helpers.shared.region(threads, task);
                drop(turn);
                if let Some(panic) = panic {
                    resume_unwind(panic);
                }
            }
            _ => (0..threads).for_each(task),
        }
    }

    /// Splits rows among `threads` threads on multiples of `grain`, as [`split`] does, and calls
    /// `task` with the numbers of each thread's rows and the rows themselves.
    ///
    /// # Panics
    /// As [`Pool::run`], and if `grain` is 0.
    #[expect(clippy::needless_pass_by_value, reason = "the caller gives the view up")]
    #[inline]
    pub fn for_rows<T: Send>(
        &self,
        threads: usize,
        rows: RowsMut<'_, T>,
        grain: usize,
        task: impl Fn(Range<usize>, RowsMut<'_, T>) + Sync,
    ) {
        let total = rows.rows();
        // SAFETY: the view is this call's own, and is not used again but through the handle.
        let shared = unsafe { rows.share() };
        self.run(threads, &|index| {
            let range = split(total, threads, index, grain);
            // SAFETY: each index is run once, and the parts of a split do not meet.
            task(range.clone(), unsafe { shared.range_mut(range) });
        });
    }

    /// Runs `task` on as many threads as there are rows, each with its index and the row of that
    /// number: memory of its own.
    ///
    /// # Panics
    /// As [`Pool::run`].
    #[expect(clippy::needless_pass_by_value, reason = "the caller gives the view up")]
    #[inline]
    pub fn with_rows<T: Send>(&self, rows: RowsMut<'_, T>, task: impl Fn(usize, &mut [T]) + Sync) {
        let threads = rows.rows();
        // SAFETY: the view is this call's own, and is not used again but through the handle.
        let shared = unsafe { rows.share() };
        self.run(threads, &|index| {
            // SAFETY: each index is run once and takes the row of its own number.
            task(index, unsafe { shared.range_mut(index..index + 1) }.row_mut(0));
        });
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let Some(helpers) = self.helpers.take() else { return };
        for signal in &helpers.shared.signals {
            signal.send(signal::END);
        }
        for thread in helpers.threads {
            // Helpers catch every panic of a task; there is no other to report.
            let _ = thread.join();
        }
    }
}

impl Signal {
    fn send(&self, message: u32) {
        if self.0.swap(message, Ordering::AcqRel) == signal::ASLEEP {
            futex_wake(&self.0);
        }
    }

    /// Waits for WORK or END.
    fn receive(&self) -> u32 {
        let read = || self.0.load(Ordering::Acquire);
        if spin_until(|| read() != signal::IDLE) {
            return read();
        }
        let sleep = self.0.compare_exchange(
            signal::IDLE,
            signal::ASLEEP,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        if let Err(message) = sleep {
            return message;
        }
        loop {
            futex_wait(&self.0, signal::ASLEEP);
            let message = read();
            if message != signal::ASLEEP {
                return message;
            }
        }
    }
}

impl Shared {
    /// Runs a region as its caller; gives back the first panic.
    fn region(&self, threads: usize, task: Task<'_>) -> Option<Box<dyn Any + Send>> {
        let helpers = self.signals.len().min(threads - 1);
        type Borrowed<'a> = *const (dyn Fn(usize) + Sync + 'a);
        let task: Borrowed<'_> = task;
        // SAFETY: only the lifetime changes; this function returns after the last use.
        let task = unsafe { std::mem::transmute::<Borrowed<'_>, Borrowed<'static>>(task) };
        let job = Job { task, threads, stride: helpers + 1 };
        // SAFETY: the caller holds the pool's turn and the last region's helpers are done with
        // the job, which they said by `running` reaching 0.
        unsafe { *self.job.get() = Some(job) };
        self.running.store(helpers as u32, Ordering::Relaxed);
        for signal in &self.signals[..helpers] {
            signal.send(signal::WORK);
        }
        IN_REGION.set(true);
        self.take_share(job, 0);
        IN_REGION.set(false);
        self.wait_for_helpers();
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Runs the indices of one thread and keeps the first panic.
    fn take_share(&self, job: Job, thread: usize) {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the caller of the region keeps the task alive until all threads are done.
            let task = unsafe { &*job.task };
            (thread..job.threads).step_by(job.stride).for_each(task);
        }));
        if let Err(panic) = ended {
            let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(panic);
        }
    }

    fn wait_for_helpers(&self) {
        let running = || self.running.load(Ordering::Acquire);
        if spin_until(|| running() == 0) {
            return;
        }
        let before = self.running.fetch_or(CALLER_ASLEEP, Ordering::AcqRel);
        let mut now = before | CALLER_ASLEEP;
        while now != CALLER_ASLEEP {
            futex_wait(&self.running, now);
            now = running();
        }
    }

    /// The life of helper `helper`, counted from 1.
    fn help(&self, helper: usize) {
        IN_REGION.set(true);
        let signal = &self.signals[helper - 1];
        while signal.receive() == signal::WORK {
            // SAFETY: the caller wrote the job before it sent WORK and does not touch it until
            // this helper has decremented `running`.
            let job = unsafe { *self.job.get() };
            self.take_share(job.expect("WORK comes with a job"), helper);
            // The store comes before the decrement, after which the next region may send WORK. No
            // other thread writes the word now: END is sent by the owner of the pool, outside of
            // regions.
            signal.0.store(signal::IDLE, Ordering::Relaxed);
            if self.running.fetch_sub(1, Ordering::AcqRel) == CALLER_ASLEEP | 1 {
                futex_wake(&self.running);
            }
        }
    }
}

/// Spins until `ready`, for a bounded time; says whether it is.
fn spin_until(ready: impl Fn() -> bool) -> bool {
    for _ in 0..SPIN_ROUNDS {
        for _ in 0..PAUSES {
            if ready() {
                return true;
            }
            std::hint::spin_loop();
        }
        // Gives up the core, in case the awaited thread is waiting for it.
        thread::yield_now();
    }
    ready()
}

/// Sleeps while the word is `value`; may wake early.
fn futex_wait(word: &AtomicU32, value: u32) {
    // Whether woken, interrupted or too late to sleep, the caller reads the word again.
    let _ = wait(word, Flags::PRIVATE, value, None);
}

fn futex_wake(word: &AtomicU32) {
    // The only failure, a bad address, cannot occur: the word is borrowed.
    let _ = wake(word, Flags::PRIVATE, 1);
}

/// The part of `0..total` that falls to `index` of `parts`: parts differ by one grain at most,
/// and all but the last end on a multiple of `grain`.
///
/// # Panics
/// If `parts` or `grain` is 0.
#[inline]
pub fn split(total: usize, parts: usize, index: usize, grain: usize) -> Range<usize> {
    // The divisions below take as long as a small kernel.
    if (parts, index) == (1, 0) {
        return 0..total;
    }
    let grains = total.div_ceil(grain);
    let (each, extra) = (grains / parts, grains % parts);
    let edge = |index: usize| ((index * each + index.min(extra)) * grain).min(total);
    edge(index)..edge(index + 1)
}

#[cfg(test)]
mod tests;
