//! A gauge: one rate of the machine, read off many windows of about a millisecond.

use crate::clock::seconds_of;
use proofmark_tensor::Pool;
use std::sync::atomic::{AtomicU64, Ordering};

/// Length of a window: far above the clock's step and the start of a parallel region, far below the
/// time between two interruptions.
const WINDOW_SECONDS: f64 = 1e-3;
/// Windows of a turn. The warm-up window before them is not counted: it wakes threads and units.
const WINDOWS: usize = 4;
/// Greatest number of units of a window, for work that takes no time.
const MOST: u64 = 1 << 40;

/// One rate and its windows.
pub(super) struct Gauge<'a> {
    threads: usize,
    /// Does this many units of work on the thread of that index.
    work: Box<dyn Fn(usize, u64) + Sync + 'a>,
    /// Brings a working set into its cache on the thread of that index, before each turn.
    ready: Box<dyn Fn(usize) + Sync + 'a>,
    /// Units of a window; 0 before it was tried.
    size: u64,
    /// Units a second of each window, all threads together.
    rates: Vec<f64>,
}

impl<'a> Gauge<'a> {
    /// A gauge of `work`, run on `threads` threads at the same time.
    pub(super) fn new(threads: usize, work: impl Fn(usize, u64) + Sync + 'a) -> Gauge<'a> {
        let work = Box::new(work);
        Gauge { threads, work, ready: Box::new(|_| {}), size: 0, rates: Vec::new() }
    }

    /// The same gauge, with something to do before each turn.
    pub(super) fn after(self, ready: impl Fn(usize) + Sync + 'a) -> Gauge<'a> {
        Gauge { ready: Box::new(ready), ..self }
    }

    /// Threads that run at the same time.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Takes the windows of one turn.
    pub(super) fn turn(&mut self, pool: &Pool) {
        if self.size == 0 {
            self.size = self.fitting_size(pool);
        }
        pool.run(self.threads, &*self.ready);
        self.window(pool, self.size);
        let rates: Vec<f64> = (0..WINDOWS).map(|_| self.window(pool, self.size)).collect();
        let best = rates.iter().copied().fold(0.0, f64::max);
        self.rates.extend(rates);
        // An interruption while the window grew has made it too short.
        if self.seconds(self.size, best) < WINDOW_SECONDS / 2.0 {
            self.size = (self.size * 2).min(MOST);
        }
    }

    /// The rate that this share of all windows stays below, in units a second.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let mut rates = self.rates.clone();
        rates.sort_unstable_by(f64::total_cmp);
        let last = rates.len().saturating_sub(1);
        rates.get((share * last as f64).round() as usize).copied().unwrap_or(0.0)
    }

    /// Units that fill a window, or fewer after an interruption; grown by doubling.
    fn fitting_size(&self, pool: &Pool) -> u64 {
        let mut size = 1;
        while size < MOST {
            let seconds = self.seconds(size, self.window(pool, size));
            if seconds > WINDOW_SECONDS / 4.0 {
                return ((size as f64 * WINDOW_SECONDS / seconds) as u64).max(1);
            }
            size *= 2;
        }
        MOST
    }

    /// The length of a window of `size` units at a rate of all threads together.
    fn seconds(&self, size: u64, rate: f64) -> f64 {
        (size * self.threads as u64) as f64 / rate
    }

    /// Starts all threads together and adds up their rates. Each thread times itself, so that no
    /// rate includes the wait for the last thread.
    fn window(&self, pool: &Pool, size: u64) -> f64 {
        let spent: Vec<AtomicU64> = (0..self.threads).map(|_| AtomicU64::new(0)).collect();
        pool.run(self.threads, &|thread| {
            let seconds = seconds_of(|| (self.work)(thread, size));
            spent[thread].store(seconds.to_bits(), Ordering::Relaxed);
        });
        // Times below the clock's step cannot be told apart from 0.
        let rate =
            |seconds: AtomicU64| size as f64 / f64::from_bits(seconds.into_inner()).max(1e-9);
        spent.into_iter().map(rate).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_thread_works_and_rates_add_up() {
        let seen = Mutex::new(vec![0_u64; 2]);
        let mut gauge = Gauge::new(2, |thread, size| {
            seen.lock().unwrap()[thread] += size;
            std::thread::yield_now();
        });
        (gauge.size, gauge.rates) = (8, Vec::new());
        gauge.turn(&Pool::new(2));
        assert_eq!(gauge.rates.len(), WINDOWS);
        assert!(gauge.rates.iter().all(|rate| rate.is_finite() && *rate > 0.0));
        assert_eq!(*seen.lock().unwrap(), [8 * (WINDOWS as u64 + 1); 2]);
    }

    #[test]
    fn quantiles_are_of_the_windows() {
        let mut gauge = Gauge::new(1, |_, _| {});
        assert_eq!(gauge.quantile(0.99), 0.0);
        gauge.rates = (1..=101).rev().map(f64::from).collect();
        assert_eq!(
            [0.0, 0.05, 0.5, 0.99, 1.0].map(|q| gauge.quantile(q)),
            [1., 6., 51., 100., 101.]
        );
    }

    #[test]
    fn work_that_takes_no_time_ends_the_growth() {
        assert_eq!(Gauge::new(1, |_, _| {}).fitting_size(&Pool::serial()), MOST);
    }
}
