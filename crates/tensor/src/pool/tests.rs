//! Tests of the pool: every index once, no hang, no lost panic.

use super::*;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

const LONGER_THAN_SPINNING: Duration = Duration::from_micros(500);

fn counts(pool: &Pool, threads: usize) -> Vec<usize> {
    let counts: Vec<AtomicUsize> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
    pool.run(threads, &|i| {
        counts[i].fetch_add(1, Ordering::Relaxed);
    });
    counts.into_iter().map(AtomicUsize::into_inner).collect()
}

#[test]
fn every_index_runs_once_even_beyond_the_threads() {
    for max in [0, 1, 2, 4] {
        let pool = Pool::new(max);
        assert_eq!(pool.max_threads(), max.max(1));
        for threads in [0, 1, 2, 3, 4, 9] {
            assert_eq!(counts(&pool, threads), vec![1; threads], "{threads} of {max}");
        }
    }
}

#[test]
fn a_hundred_thousand_regions_add_up() {
    let pool = Pool::new(4);
    let mut cells = [0u64; 4];
    let mut expected = [0u64; 4];
    for round in 0..100_000u64 {
        let threads = 2 + (round % 3) as usize;
        let cell = cells.as_mut_ptr() as usize;
        pool.run(threads, &|i| {
            // SAFETY: index i is run by one thread at a time and touches only its own cell.
            unsafe { *(cell as *mut u64).add(i) += round };
        });
        expected[..threads].iter_mut().for_each(|sum| *sum += round);
    }
    assert_eq!(cells, expected);
}

#[test]
fn helpers_that_fell_asleep_wake_up() {
    let pool = Pool::new(3);
    for _ in 0..20 {
        thread::sleep(LONGER_THAN_SPINNING);
        assert_eq!(counts(&pool, 3), [1; 3]);
    }
}

#[test]
fn a_caller_that_fell_asleep_wakes_up() {
    let pool = Pool::new(2);
    for _ in 0..20 {
        pool.run(2, &|i| {
            if i == 1 {
                thread::sleep(LONGER_THAN_SPINNING);
            }
        });
    }
}

#[test]
fn a_panic_of_any_index_reaches_the_caller_after_all_have_ended() {
    let pool = Pool::new(3);
    for bad in 0..3 {
        let ended = AtomicUsize::new(0);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.run(3, &|i| {
                if i == bad {
                    panic!("index {i}");
                }
                thread::sleep(LONGER_THAN_SPINNING);
                ended.fetch_add(1, Ordering::Relaxed);
            });
        }));
        let message = *caught.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(message, format!("index {bad}"));
        assert_eq!(ended.into_inner(), 2);
        assert_eq!(counts(&pool, 3), [1; 3], "the pool lives on");
    }
}

#[test]
fn a_region_inside_a_task_runs_inline() {
    let pool = Pool::new(3);
    let total = AtomicUsize::new(0);
    pool.run(3, &|_| {
        let thread = thread::current().id();
        pool.run(4, &|_| {
            assert_eq!(thread::current().id(), thread);
            total.fetch_add(1, Ordering::Relaxed);
        });
    });
    assert_eq!(total.into_inner(), 12);
}

#[test]
fn two_callers_take_turns() {
    let pool = Pool::new(2);
    let active = [AtomicUsize::new(0), AtomicUsize::new(0)];
    thread::scope(|scope| {
        for caller in 0..2 {
            let (pool, active) = (&pool, &active);
            scope.spawn(move || {
                for _ in 0..2000 {
                    pool.run(2, &|_| {
                        active[caller].fetch_add(1, Ordering::SeqCst);
                        assert_eq!(active[1 - caller].load(Ordering::SeqCst), 0);
                        active[caller].fetch_sub(1, Ordering::SeqCst);
                    });
                }
            });
        }
    });
}

#[test]
fn parts_cover_the_range_in_order_on_grains() {
    for total in [0, 1, 7, 8, 63, 64, 65, 1000] {
        for parts in 1..6 {
            for grain in [1, 4, 16] {
                let mut end = 0;
                let lengths: Vec<usize> = (0..parts)
                    .map(|index| {
                        let part = split(total, parts, index, grain);
                        assert_eq!(part.start, end);
                        assert!(part.end.is_multiple_of(grain) || part.end == total);
                        end = part.end;
                        part.len().div_ceil(grain)
                    })
                    .collect();
                assert_eq!(end, total);
                let (least, most) = (lengths.iter().min(), lengths.iter().max());
                assert!(most.unwrap() - least.unwrap() <= 1, "{lengths:?}");
            }
        }
    }
}

#[test]
fn rows_are_shared_out_each_to_one_thread() {
    let pool = Pool::new(3);
    for (rows, threads, grain) in [(7, 3, 1), (7, 3, 2), (2, 3, 1), (0, 2, 1), (5, 1, 4)] {
        let mut values = vec![0; rows * 2];
        pool.for_rows(threads, RowsMut::from_slice(&mut values, rows, 2), grain, |at, mut own| {
            assert_eq!(at.len(), own.rows());
            for (i, row) in at.enumerate() {
                own.row_mut(i).iter_mut().for_each(|value| *value += 1 + row);
            }
        });
        let want: Vec<usize> = (0..rows).flat_map(|row| [1 + row; 2]).collect();
        assert_eq!(values, want, "{rows} rows, {threads} threads, {grain}");
        pool.with_rows(RowsMut::from_slice(&mut values, rows, 2), |index, own| own.fill(index));
        let want: Vec<usize> = (0..rows).flat_map(|row| [row; 2]).collect();
        assert_eq!(values, want, "{rows} rows");
    }
}
