//! The best rate over short windows: what the machine does when nothing interrupts it.

use crate::clock::seconds_of;
use proofmark_tensor::Pool;
use std::sync::{Mutex, PoisonError};

/// Windows that count.
const WINDOWS: usize = 30;
/// A window is grown until it lasts this long: far above the clock's step and a region's start,
/// far below the time between two interruptions.
const WINDOW_SECONDS: f64 = 0.6e-3;
/// Tries of a size that may be too small.
const TRIES: usize = 3;
/// Least units of a window.
const FIRST_SIZE: usize = 64;

/// The sum over the pool's threads of each one's best rate, in units a second.
///
/// `work(thread)` makes what a thread repeats; it is then called with a count of units. Threads
/// time their own windows: nothing waits for a thread that lost its processor. Where threads
/// share a unit or a memory but lose their processors in turn, the sum is more than they reach
/// together, so that on a busy machine it errs upwards, as a limit may.
pub(super) fn best_rates<W: FnMut(usize)>(
    pool: &Pool,
    threads: usize,
    most: usize,
    work: impl Fn(usize) -> W + Sync,
) -> f64 {
    let rates: Vec<Mutex<f64>> = (0..threads).map(|_| Mutex::new(0.0)).collect();
    pool.run(threads, &|thread| {
        let rate = best_rate(most, work(thread));
        *rates[thread].lock().unwrap_or_else(PoisonError::into_inner) = rate;
    });
    rates.iter().map(|rate| *rate.lock().unwrap_or_else(PoisonError::into_inner)).sum()
}

/// The best rate of the calling thread in units a second; `work(size)` does `size` units.
///
/// The window's size grows by doubling until it lasts long enough, or to `most` units. The
/// quickest of several tries counts: an interruption must not end the growth.
fn best_rate(most: usize, mut work: impl FnMut(usize)) -> f64 {
    let mut seconds = |size: usize| seconds_of(|| work(size));
    let mut size = FIRST_SIZE.min(most);
    while size < most && quickest(TRIES, || seconds(size)) < WINDOW_SECONDS {
        size = (size * 2).min(most);
    }
    // The clock's step bounds what can be told apart from nothing.
    size as f64 / quickest(WINDOWS, || seconds(size)).max(1e-9)
}

fn quickest(tries: usize, mut seconds: impl FnMut() -> f64) -> f64 {
    (0..tries).map(|_| seconds()).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_never_exceed_the_most_and_all_of_them_run() {
        let mut sizes = Vec::new();
        let rate = best_rate(100, |size| sizes.push(size));
        assert!(rate > 0.0 && rate.is_finite());
        assert!(sizes.iter().all(|&size| size <= 100));
        assert_eq!(sizes[sizes.len() - WINDOWS..], [100; WINDOWS]);
    }

    #[test]
    fn every_thread_makes_its_own_work_and_adds_its_rate() {
        let made = Mutex::new(Vec::new());
        let rate = best_rates(&Pool::new(2), 2, 1, |thread| {
            made.lock().unwrap().push(thread);
            |_| {}
        });
        made.lock().unwrap().sort_unstable();
        assert_eq!(*made.lock().unwrap(), [0, 1]);
        assert!(rate.is_finite() && rate > 0.0);
    }
}
