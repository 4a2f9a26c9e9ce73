//! How many bytes a second stream through a working set of a given size.

use super::window::best_rates;
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::{Mapping, Pool, split};
use std::hint::black_box;
use std::slice;

/// Largest working set that is probed: beyond it the rate is that of main memory.
pub const MAX_WORKING_SET: usize = 256 << 20;
/// Bytes of a cache line; parts of a window start on one.
const LINE: usize = 64;
/// Bytes of traffic per element: `x` and `y` are read, `y` is written.
const TRAFFIC: usize = 12;
/// Bytes of the working set per element.
const HELD: usize = 8;
/// Elements of the longest window: about a millisecond of the fastest first cache.
const MOST: usize = 1 << 25;

/// Best rate of `y = a·y + x` over two arrays that together fill the working set, in bytes read
/// and written. The set is capped at [`MAX_WORKING_SET`], threads at what the pool has.
///
/// A window walks on from where the last one ended and starts over at the end, so that every
/// byte comes back only after the whole set has passed, as in repeated calls of a kernel.
///
/// # Panics
/// If the system refuses the memory.
pub fn bytes_per_second(working_set_bytes: usize, threads: usize, pool: &Pool) -> f64 {
    let threads = threads.clamp(1, pool.max_threads());
    let grain = LINE / size_of::<f32>();
    let set = working_set_bytes.clamp(LINE * 2 * threads, MAX_WORKING_SET);
    let length = set / HELD / grain * grain;
    let x = Array::new(length, 1.0);
    let y = Array::new(length, 0.5);
    let isa = proofmark_simd::detect();
    let elements = best_rates(pool, threads, MOST, |thread| {
        // Each thread keeps to its own part of the arrays, which stays in its own cache.
        let part = split(length, threads, thread, grain);
        // SAFETY: parts of different threads are disjoint, each thread asks once, and nothing
        // else holds the arrays while the pool runs.
        let (x, y) = unsafe { (x.part(part.clone()), y.part_mut(part)) };
        let mut at = 0;
        move |size| {
            let count = size.next_multiple_of(grain);
            dispatch(isa, Stream { x, y: &mut *y, at, count });
            at = (at + count) % x.len().max(1);
        }
    });
    elements * TRAFFIC as f64
}

/// `y = x - y/2` over `count` elements from `at` on, starting over at the end.
struct Stream<'a> {
    x: &'a [f32],
    y: &'a mut [f32],
    at: usize,
    count: usize,
}

impl Body for Stream<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // A factor below 1 keeps the values bounded over any number of passes.
        let factor = simd.splat(black_box(-0.5));
        let (mut at, mut left) = (self.at, self.count);
        while left > 0 && !self.x.is_empty() {
            let run = left.min(self.x.len() - at);
            let (x, y) = (&self.x[at..at + run], &mut self.y[at..at + run]);
            // Four vectors a turn, so that the loop's own instructions do not limit it.
            let step = 4 * S::LANES;
            for (x, y) in x.chunks_exact(step).zip(y.chunks_exact_mut(step)) {
                for i in (0..step).step_by(S::LANES) {
                    simd.store(
                        simd.fma(factor, simd.load(&y[i..]), simd.load(&x[i..])),
                        &mut y[i..],
                    );
                }
            }
            let rest = run / step * step;
            for (x, y) in x[rest..].chunks_exact(S::LANES).zip(y[rest..].chunks_exact_mut(S::LANES))
            {
                simd.store(simd.fma(factor, simd.load(y), simd.load(x)), y);
            }
            (at, left) = (0, left - run);
        }
    }
}

/// A page-aligned array that threads write in disjoint parts.
struct Array {
    memory: Mapping,
    length: usize,
}

impl Array {
    /// An array of `length` elements, every one written, so that its pages are there.
    fn new(length: usize, value: f32) -> Array {
        let memory = Mapping::anonymous(length * size_of::<f32>())
            .unwrap_or_else(|error| panic!("no memory for a probe of {length} elements: {error}"));
        let array = Array { memory, length };
        // Huge pages where the kernel gives them: the probe asks for the memory's rate, not for
        // that of address translation. Without them it is only slower.
        // SAFETY: the advice covers the mapping's own pages and changes no contents.
        let _ = unsafe {
            rustix::mm::madvise(
                array.memory.base().cast(),
                length * size_of::<f32>(),
                rustix::mm::Advice::LinuxHugepage,
            )
        };
        // SAFETY: nobody else holds the array yet.
        unsafe { array.part_mut(0..length) }.fill(value);
        array
    }

    /// Elements of a range, for reading.
    ///
    /// # Safety
    /// Nobody writes them meanwhile.
    unsafe fn part(&self, range: std::ops::Range<usize>) -> &[f32] {
        assert!(range.start <= range.end && range.end <= self.length);
        // SAFETY: in bounds by the assertion, aligned to a page at the base, initialised.
        unsafe {
            slice::from_raw_parts(self.memory.base().cast::<f32>().add(range.start), range.len())
        }
    }

    /// Elements of a range, for writing.
    ///
    /// # Safety
    /// Nobody else reads or writes them meanwhile.
    #[expect(clippy::mut_from_ref, reason = "threads hold disjoint parts, as the caller promises")]
    unsafe fn part_mut(&self, range: std::ops::Range<usize>) -> &mut [f32] {
        assert!(range.start <= range.end && range.end <= self.length);
        // SAFETY: as above, and the caller promises that it is the only one.
        unsafe {
            slice::from_raw_parts_mut(
                self.memory.base().cast::<f32>().add(range.start),
                range.len(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_and_thread_count_gives_a_rate() {
        let pool = Pool::new(2);
        for (bytes, threads) in [(0, 1), (4096, 1), (4097, 2), (1 << 20, 2), (100, 64)] {
            let rate = bytes_per_second(bytes, threads, &pool);
            assert!(rate.is_finite() && rate > 0.0, "{bytes} bytes: {rate}");
        }
    }

    #[test]
    fn streaming_starts_over_at_the_end_and_counts_every_element() {
        let (x, mut y) = (vec![4.0; 64], vec![2.0; 64]);
        dispatch(proofmark_simd::detect(), Stream { x: &x, y: &mut y, at: 32, count: 48 });
        // Positions 32 to 63 and 0 to 15 once: 4 - 2/2.
        let expected: Vec<f32> =
            (0..64).map(|i| if (16..32).contains(&i) { 2.0 } else { 3.0 }).collect();
        assert_eq!(y, expected);
    }
}
