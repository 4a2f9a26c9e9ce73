//! Short probes of what the machine can do at best, as limits for efficiency.
//!
//! They are upper estimates: the best of many windows, so that interruptions do not count. Each
//! takes at most about 40 ms once its memory is touched.

mod arithmetic;
mod traffic;
mod window;

pub use arithmetic::flops_per_second;
pub use traffic::{MAX_WORKING_SET, bytes_per_second};

use proofmark_schema::record::Limits;
use proofmark_schema::{Isa, Work};
use proofmark_tensor::Pool;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Smallest working set that is probed apart: below it everything lies in the first cache.
const MIN_WORKING_SET: usize = 4096;

/// Rates by path and threads.
static ARITHMETIC: Mutex<BTreeMap<(Isa, usize), f64>> = Mutex::new(BTreeMap::new());
/// Rates by working set and threads.
static TRAFFIC: Mutex<BTreeMap<(usize, usize), f64>> = Mutex::new(BTreeMap::new());

/// The machine's limits for a call, probed once per process and kind.
///
/// The working set is taken as the power of two at or below it, and at most
/// [`MAX_WORKING_SET`]: a smaller set is never slower, so that the bound stays a bound.
pub fn limits(work: &Work, isa: Isa, threads: usize, working_set: usize) -> Limits {
    let threads = threads.max(1);
    let set = probed_set(working_set);
    let flops_per_second = remembered(&ARITHMETIC, (isa, threads), || {
        flops_per_second(isa, threads, &Pool::new(threads))
    });
    let bytes_per_second = remembered(&TRAFFIC, (set, threads), || {
        bytes_per_second(set, threads, &Pool::new(threads))
    });
    let arithmetic = work.flops as f64 / flops_per_second;
    let traffic = work.bytes() as f64 / bytes_per_second;
    Limits { flops_per_second, bytes_per_second, bound_ns: arithmetic.max(traffic) * 1e9 }
}

fn probed_set(working_set: usize) -> usize {
    1 << working_set.clamp(MIN_WORKING_SET, MAX_WORKING_SET).ilog2()
}

/// The rate under `key`, probed on first use. Held while probing: two probes at the same time
/// would disturb each other.
fn remembered<K: Ord>(known: &Mutex<BTreeMap<K, f64>>, key: K, probe: impl FnOnce() -> f64) -> f64 {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(key).or_insert_with(probe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn working_sets_are_rounded_down_so_that_a_bound_stays_one() {
        assert_eq!(probed_set(0), 4096);
        assert_eq!(probed_set(48 << 10), 32 << 10);
        assert_eq!(probed_set(64 << 10), 64 << 10);
        assert_eq!(probed_set(usize::MAX), MAX_WORKING_SET);
    }

    #[test]
    fn the_bound_is_the_slower_of_arithmetic_and_traffic() {
        let work = Work { flops: 1 << 30, bytes_read: 64, ..Work::default() };
        let probed = limits(&work, Isa::Scalar, 1, 4096);
        let expected = work.flops as f64 / probed.flops_per_second * 1e9;
        assert_eq!(probed.bound_ns, expected);
        let work = Work { flops: 1, bytes_read: 1 << 30, bytes_written: 1 << 30, ..work };
        let again = limits(&work, Isa::Scalar, 1, 4096);
        assert_eq!(again.bound_ns, work.bytes() as f64 / probed.bytes_per_second * 1e9);
        assert_eq!(again.flops_per_second, probed.flops_per_second, "probed once");
    }
}
