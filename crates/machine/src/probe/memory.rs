//! The memory that probes stream through and chase pointers in.

use super::gauge::Gauge;
use crate::{kernel_text, processor};
use proofmark_schema::probe::{Level, Traffic};
use proofmark_simd::stream::{Area, BLOCK};
use proofmark_tensor::{Mapping, Pool, split};
use std::hint::black_box;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Huge pages, on which working sets start.
const HUGE: usize = 2 << 20;
/// Least working set of main memory, of one thread.
const FAR: usize = 256 << 20;
/// Greatest working set of the third cache, of one thread: others use it too.
const SHARED: usize = 16 << 20;
/// Greatest working set that is brought into the caches before a turn.
const CACHED: usize = 32 << 20;
/// Working sets of the pointer chase.
pub(super) const CHASED: [usize; 8] =
    [32 << 10, 128 << 10, 512 << 10, 2 << 20, 8 << 20, 32 << 20, 128 << 20, 256 << 20];

/// Sizes of the data caches in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caches {
    /// L1, L2 and L3; 0 if there is no L3.
    pub bytes: [u64; 3],
}

impl Caches {
    /// The caches of this machine; common sizes if it does not report them.
    pub fn here() -> Caches {
        let known = processor::caches();
        let size = |level: u8| {
            known.iter().find(|cache| cache.level == level && cache.kind != "instruction")
        };
        let size_or = |level, usual| size(level).map_or(usual, |cache| cache.bytes);
        Caches { bytes: [size_or(1, 32 << 10), size_or(2, 1 << 20), size_or(3, 0)] }
    }

    /// Bytes of a thread's working set in a level if `threads` threads share its shared caches;
    /// `None` for a level that is not there or cannot be distinguished from the one before.
    pub(super) fn working_set(&self, level: Level, threads: usize) -> Option<usize> {
        let [first, second, third] = self.bytes.map(|bytes| bytes as usize);
        let bytes = match level {
            Level::L1 => first / 2,
            Level::L2 => second / 2,
            Level::L3 => {
                let part = (third / 4).min(SHARED).min(third / 2 / threads);
                if part <= second {
                    return None;
                }
                part
            }
            Level::Dram => {
                let meminfo = kernel_text::read("/proc/meminfo").unwrap_or_default();
                let free = kernel_text::memory_bytes(&meminfo, "MemAvailable").unwrap_or(0);
                let most = (free as usize / 4 / threads).max(SHARED);
                FAR.max(2 * third / threads).min(most) / HUGE * HUGE
            }
        };
        Some(bytes)
    }
}

/// Memory on huge pages where the kernel gives them, every byte written.
pub(super) struct Ground {
    memory: Mapping,
    start: usize,
    bytes: usize,
}

impl Ground {
    /// # Panics
    /// If the system refuses the memory.
    pub(super) fn new(bytes: usize, pool: &Pool) -> Ground {
        let memory = Mapping::anonymous(bytes + HUGE)
            .unwrap_or_else(|error| panic!("no memory for a probe of {bytes} bytes: {error}"));
        let start = memory.base().align_offset(HUGE);
        // A probe asks for the memory's rate, not for that of address translation. Without huge
        // pages it is only slower.
        // SAFETY: the advice covers the mapping's own pages and changes no contents.
        let _ = unsafe {
            let advice = rustix::mm::Advice::LinuxHugepage;
            rustix::mm::madvise(memory.base().cast(), bytes + HUGE, advice)
        };
        let ground = Ground { memory, start, bytes };
        let parts = pool.max_threads();
        // Each thread writes its own part first, which places it near its processor.
        pool.run(parts, &|part| {
            let part = split(bytes / size_of::<f32>(), parts, part, HUGE / size_of::<f32>());
            // SAFETY: parts are disjoint, and nothing else holds the memory yet.
            unsafe { ground.part(part.start * size_of::<f32>(), part.len()) }.fill(1.0);
        });
        ground
    }

    /// `count` elements from byte `at` on.
    ///
    /// # Safety
    /// Nothing else holds them meanwhile.
    #[expect(clippy::mut_from_ref, reason = "threads hold disjoint parts, as the caller promises")]
    pub(super) unsafe fn part(&self, at: usize, count: usize) -> &mut [f32] {
        assert!(at.is_multiple_of(64) && at + count * size_of::<f32>() <= self.bytes);
        // SAFETY: inside the mapping by the assertion, aligned, initialised (the system gives
        // zeros), and the caller's alone.
        unsafe { slice::from_raw_parts_mut(self.memory.base().add(self.start + at).cast(), count) }
    }

    /// Bytes that working sets of `bytes` for `threads` threads need.
    pub(super) fn needed(bytes: usize, threads: usize) -> usize {
        bytes.next_multiple_of(HUGE) * threads
    }

    /// Gauges of blocks, one for each kind of traffic that this machine has. Each thread walks
    /// through a working set of its own, on from where the last window of any kind ended, so that
    /// every byte comes back only after the whole set has passed.
    pub(super) fn gauges(
        &self,
        bytes: usize,
        threads: usize,
    ) -> impl Iterator<Item = (Traffic, Gauge<'_>)> {
        let places: Arc<[AtomicUsize]> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
        let gauge = move |kind| Some((kind, self.gauge(kind, bytes, Arc::clone(&places))?));
        Traffic::ALL.into_iter().filter_map(gauge)
    }

    /// A gauge of one kind. Places are kept in blocks of all arrays together.
    fn gauge(
        &self,
        traffic: Traffic,
        bytes: usize,
        places: Arc<[AtomicUsize]>,
    ) -> Option<Gauge<'_>> {
        let area = move |thread: usize| {
            let at = bytes.next_multiple_of(HUGE) * thread;
            // SAFETY: working sets of threads are disjoint, a thread takes its own only while
            // it runs a window, and gauges take turns.
            Area::cut(traffic, unsafe { self.part(at, bytes / size_of::<f32>()) })
        };
        let (blocks, arrays) = (area(0)?.blocks(), traffic.arrays());
        let gauge = Gauge::new(places.len(), move |thread, size| {
            let mut area = area(thread).expect("it was there");
            let mut at = places[thread].load(Ordering::Relaxed) / arrays % blocks;
            let mut left = size as usize;
            while left > 0 {
                let count = left.min(blocks - at);
                // Whole sets at a time, so that beginning anew costs nothing.
                let times = if count == blocks { left / blocks } else { 1 };
                area.walk(at, count, times);
                (at, left) = ((at + count) % blocks, left - count * times);
            }
            places[thread].store(at * arrays, Ordering::Relaxed);
        });
        Some(gauge.after(move |thread| {
            if bytes <= CACHED {
                area(thread).expect("it was there").walk(0, blocks, 1);
            }
        }))
    }

    /// Bytes that one block of a gauge reads and writes.
    pub(super) fn block_bytes(traffic: Traffic) -> f64 {
        (BLOCK * traffic.arrays()) as f64
    }
}

/// Lines that name one another in a circle through all of them.
pub(super) struct Circle(Ground);

/// Words of a line of the caches, of which a chase touches one.
const LINE: usize = 16;

impl Circle {
    /// A circle through a working set of `bytes`, a power of two.
    pub(super) fn new(bytes: usize) -> Circle {
        let circle = Circle(Ground::new(bytes, &Pool::serial()));
        let words = circle.words();
        let lines = words.len() / LINE;
        for line in 0..lines {
            // Multipliers of the form 8n + 5 with an odd addend visit every residue of a power
            // of two once (Hull and Dobell 1962), without a pattern that a prefetcher knows.
            let next = (line.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(12_345)) % lines;
            words[line * LINE] = f32::from_bits((next * LINE) as u32);
        }
        circle
    }

    #[expect(clippy::mut_from_ref, reason = "used by one gauge of one thread")]
    fn words(&self) -> &mut [f32] {
        // SAFETY: gauges take turns, this memory has one only, and it is of one thread.
        unsafe { self.0.part(0, self.0.bytes / size_of::<f32>()) }
    }

    /// A gauge of loads, each of which waits for the one before.
    pub(super) fn gauge(&self) -> Gauge<'_> {
        let place = AtomicUsize::new(0);
        let chase = move |_, size| {
            let (words, mut at) = (self.words(), place.load(Ordering::Relaxed));
            for _ in 0..size {
                at = words[at].to_bits() as usize;
            }
            place.store(at, Ordering::Relaxed);
        };
        Gauge::new(1, chase).after(|_| {
            if self.0.bytes <= CACHED {
                black_box(self.words().iter().step_by(LINE).map(|word| word.to_bits()).max());
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn working_sets_lie_inside_their_level_and_outside_the_one_before() {
        let caches = Caches { bytes: [48 << 10, 2 << 20, 300 << 20] };
        let sets = |threads| Level::ALL.map(|level| caches.working_set(level, threads));
        assert_eq!(sets(1)[..3], [Some(24 << 10), Some(1 << 20), Some(16 << 20)]);
        assert!(sets(1)[3] >= Some(SHARED), "{:?}", sets(1));
        let small = Caches { bytes: [32 << 10, 2 << 20, 8 << 20] };
        assert_eq!(small.working_set(Level::L3, 1), None, "a quarter is the second cache's size");
        let none = Caches { bytes: [32 << 10, 1 << 20, 0] };
        assert_eq!(none.working_set(Level::L3, 1), None);
    }

    #[test]
    fn a_circle_comes_back_after_every_line_and_not_before() {
        let circle = Circle::new(32 << 10);
        let words = circle.words();
        let (mut at, mut steps) = (words[0].to_bits() as usize, 1);
        while at != 0 {
            (at, steps) = (words[at].to_bits() as usize, steps + 1);
        }
        assert_eq!(steps, 512);
    }

    #[test]
    fn a_gauge_walks_over_the_end_and_counts_whole_blocks() {
        let ground = Ground::new(1 << 20, &Pool::serial());
        for (traffic, mut gauge) in ground.gauges(9 * BLOCK, 1) {
            gauge.turn(&Pool::serial());
            assert!(gauge.quantile(0.5) > 0.0, "{traffic:?}");
        }
        assert_eq!(Ground::block_bytes(Traffic::Triad), 768.0);
    }
}
