//! The time of a call in this process, without a worker.

use proofmark_measure::{Clock, MonotonicClock};
use proofmark_tensor::Pool;
use std::hint::black_box;

/// The least nanoseconds of a slice: more than a hundred times the clock's own overhead.
const SLICE_NS: u64 = 50_000;
/// Slices behind a number.
const SLICES: usize = 41;

/// Nanoseconds of one call: the median over slices of many, and the 95th percentile.
pub(crate) fn call_ns(mut call: impl FnMut()) -> (f64, f64) {
    let clock = MonotonicClock;
    let mut slice = |calls: u64| {
        let start = clock.now_ns();
        for _ in 0..calls {
            call();
        }
        (clock.now_ns() - start).max(1)
    };
    let mut calls = 1;
    while slice(calls) < SLICE_NS && calls < 1 << 24 {
        calls *= 2;
    }
    let mut each: Vec<f64> = (0..SLICES).map(|_| slice(calls) as f64 / calls as f64).collect();
    each.sort_by(f64::total_cmp);
    (each[SLICES / 2], each[SLICES * 19 / 20])
}

/// Nanoseconds of an empty parallel region on this many threads.
pub(crate) fn fork_join_ns(threads: usize) -> f64 {
    let pool = Pool::new(threads);
    let (median, _) = call_ns(|| {
        pool.run(threads, &|index| {
            black_box(index);
        });
    });
    median
}
