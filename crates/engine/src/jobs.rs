//! Runs independent jobs on all processors. It is for proofs, which do not need a quiet machine.

use proofmark_machine::ask_for_short_time_slices;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{available_parallelism, scope};

/// As many jobs as there are processors.
pub(crate) fn processors() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// Runs `work` on every job, at most this many at once, and returns the results in the order of the
/// jobs. Jobs and the workers that they start have short time slices. These workers end with the
/// thread of their job, so no worker of a race has short time slices.
pub(crate) fn run_all<J: Sync, R: Send>(
    jobs: &[J],
    most: usize,
    work: impl Fn(&J) -> R + Sync,
) -> Vec<R> {
    let threads = most.clamp(1, jobs.len().max(1));
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(jobs.len()));
    scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                ask_for_short_time_slices();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { break };
                    let result = work(job);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|&(index, _)| index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_jobs() {
        let jobs: Vec<u32> = (0..100).collect();
        for most in [0, 1, 3, 1000] {
            let results = run_all(&jobs, most, |job| job * 2);
            assert_eq!(results, (0..100).map(|j| j * 2).collect::<Vec<_>>());
        }
        assert!(run_all(&[] as &[u32], processors(), |job| *job).is_empty());
    }
}
