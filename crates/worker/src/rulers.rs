//! The rulers: three fixed loops that measure the machine, not the contender.

use crate::clock::monotonic_ns;
use proofmark_tensor::AlignedBuffer;
use std::hint::black_box;

/// Links of R1's chain: about 8 µs at 8 cycles a link and 3 GHz.
const LINKS: usize = 3000;
/// Elements of each of R2's three arrays: 12 KB together, and not a whole page each, because the
/// processor mistakes loads and stores that lie whole pages apart for accesses to the same address.
const TRIAD_ELEMENTS: usize = 1000;
/// Times that R2 goes over them: about 5 µs.
const TRIAD_PASSES: usize = 32;
/// Bytes that R3 cycles through, and bytes of one reading. A core's caches cannot keep the first
/// until R3 comes round again. The second are few enough to be read in every trial.
const STREAM_BYTES: usize = 32 << 20;
const STREAM_PART: usize = 1 << 20;

/// The rulers with their memory.
///
/// The rulers are plain code without wide registers. Wide registers lower the frequency for a
/// while, or are slow for the first microseconds after a pause. A ruler must neither cause nor see
/// that.
pub(crate) struct Rulers {
    triad: AlignedBuffer,
    /// Made when it is first read.
    stream: Option<AlignedBuffer>,
    /// Where the next reading of the stream starts.
    at: usize,
}

impl Rulers {
    pub(crate) fn new() -> Rulers {
        let triad = AlignedBuffer::new(3 * TRIAD_ELEMENTS * size_of::<f32>());
        Rulers { triad, stream: None, at: 0 }
    }

    /// Nanoseconds of each ruler; 0 for the stream unless it is asked for.
    pub(crate) fn read(&mut self, with_stream: bool) -> [u64; 3] {
        let stream = if with_stream { self.stream() } else { 0 };
        let arrays = self.triad.elements_mut::<f32>();
        // Untimed warm-up: it brings code and data back into the caches that the arms have used.
        chain(LINKS / 8);
        triad(arrays, 1);
        [timed(|| chain(LINKS)), timed(|| triad(arrays, TRIAD_PASSES)), stream]
    }

    fn stream(&mut self) -> u64 {
        let stream = self.stream.get_or_insert_with(|| {
            let mut buffer = AlignedBuffer::new(STREAM_BYTES);
            // Pages that were never written all share one physical page.
            buffer.as_mut_slice().fill(1);
            buffer
        });
        let part = &stream.elements::<f64>()[self.at / 8..(self.at + STREAM_PART) / 8];
        self.at = (self.at + STREAM_PART) % STREAM_BYTES;
        timed(|| part.iter().fold(0u64, |sum, word| sum.wrapping_add(word.to_bits())))
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> u64 {
    let start = monotonic_ns();
    black_box(work());
    monotonic_ns() - start
}

/// R1: each multiply-add waits for the one before.
#[inline(never)]
fn chain(links: usize) -> f32 {
    let (factor, term) = (black_box(0.5f32), black_box(1.0));
    (0..links).fold(black_box(1.0), |value, _| value * factor + term)
}

/// R2: `a = b + s·c` over arrays that stay in the L1 cache.
#[inline(never)]
fn triad(arrays: &mut [f32], passes: usize) {
    let (a, rest) = arrays.split_at_mut(TRIAD_ELEMENTS);
    let (b, c) = rest.split_at(TRIAD_ELEMENTS);
    let scale = black_box(0.5f32);
    for _ in 0..passes {
        for (a, (b, c)) in a.iter_mut().zip(b.iter().zip(c)) {
            *a = b + scale * c;
        }
        black_box(&mut *a);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_read_on_demand_and_comes_round() {
        let mut rulers = Rulers::new();
        let [chain, triad, stream] = rulers.read(false);
        assert!(chain > 0 && triad > 0 && stream == 0);
        for _ in 0..STREAM_BYTES / STREAM_PART {
            assert!(rulers.read(true)[2] > 0);
        }
        assert_eq!(rulers.at, 0);
    }
}
