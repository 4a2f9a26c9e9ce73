//! Streaming through memory: the fastest loops that read, write or do both.

use proofmark_schema::probe::Traffic;
use proofmark_terms::Isa;
use std::hint::black_box;

/// Bytes of each array that one iteration of a loop processes; arrays start and end on blocks.
pub const BLOCK: usize = 256;

/// A working set: as many arrays of one length as the traffic needs.
pub struct Area<'a> {
    traffic: Traffic,
    arrays: [&'a mut [f32]; 3],
}

impl<'a> Area<'a> {
    /// Cuts the arrays from `memory`, as long as they fit. `None` where this machine has no such
    /// stores.
    ///
    /// # Panics
    /// If the memory does not start on a line of the caches.
    pub fn cut(traffic: Traffic, memory: &'a mut [f32]) -> Option<Area<'a>> {
        assert_eq!(memory.as_ptr() as usize % 64, 0, "memory of a stream starts on a line");
        let is_direct = matches!(traffic, Traffic::NtWrite | Traffic::NtCopy | Traffic::NtTriad);
        if is_direct && crate::detect() == Isa::Scalar {
            return None;
        }
        let length = memory.len() / traffic.arrays() / ELEMENTS * ELEMENTS;
        let (first, rest) = memory.split_at_mut(length);
        let second_length = length.min(rest.len());
        let (second, rest) = rest.split_at_mut(second_length);
        let third_length = length.min(rest.len());
        Some(Area { traffic, arrays: [first, second, &mut rest[..third_length]] })
    }

    /// Blocks of one array.
    pub fn blocks(&self) -> usize {
        self.arrays[0].len() / ELEMENTS
    }

    /// Walks `times` times over `count` blocks of each array, from block `from` on.
    ///
    /// # Panics
    /// If the arrays do not have them.
    pub fn walk(&mut self, from: usize, count: usize, times: usize) {
        assert!(from + count <= self.blocks(), "a walk stays in its arrays");
        let range = from * ELEMENTS..(from + count) * ELEMENTS;
        let count_arrays = self.traffic.arrays();
        let [first, second, third] = &mut self.arrays;
        // Copies read the first array; triads the first and the second. The last is written.
        let (a, b, to): (&[f32], &[f32], &mut [f32]) = match count_arrays {
            1 => (&[], &[], &mut first[range]),
            2 => (&first[range.clone()], &[], &mut second[range]),
            _ => (&first[range.clone()], &second[range.clone()], &mut third[range]),
        };
        #[cfg(target_arch = "x86_64")]
        if crate::x86::stream::walk(self.traffic, a, b, to, times) {
            return;
        }
        (0..times).for_each(|_| plain(self.traffic, a, b, to));
    }
}

/// Elements of a block.
const ELEMENTS: usize = BLOCK / size_of::<f32>();

/// The loops in plain Rust, for machines without wide vectors.
fn plain(traffic: Traffic, a: &[f32], b: &[f32], to: &mut [f32]) {
    match traffic {
        Traffic::Read => {
            let mut sums = [0.0; 16];
            for chunk in to.chunks_exact(16) {
                sums.iter_mut().zip(chunk).for_each(|(sum, x)| *sum += x);
            }
            black_box(sums);
        }
        Traffic::Write | Traffic::NtWrite => to.fill(black_box(1.0)),
        Traffic::Copy | Traffic::NtCopy => to.copy_from_slice(a),
        Traffic::Triad | Traffic::NtTriad => {
            let factor = black_box(0.5);
            for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
                *to = a + factor * b;
            }
        }
    }
    black_box(to);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C, align(64))]
    struct Memory([f32; 8 * ELEMENTS]);

    #[test]
    fn walks_touch_the_blocks_they_are_counted_for_and_no_other() {
        for traffic in Traffic::ALL {
            let mut memory = Memory([2.0; 8 * ELEMENTS]);
            let Some(mut area) = Area::cut(traffic, &mut memory.0) else { continue };
            assert_eq!(area.blocks(), 8 / traffic.arrays());
            area.walk(1, 1, 2);
            let length = area.blocks() * ELEMENTS;
            let wanted = match traffic {
                Traffic::Read | Traffic::Copy | Traffic::NtCopy => 2.0,
                Traffic::Write | Traffic::NtWrite => 1.0,
                Traffic::Triad | Traffic::NtTriad => 3.0,
            };
            let last = (traffic.arrays() - 1) * length;
            for (at, &value) in memory.0.iter().enumerate() {
                let is_written = (last + ELEMENTS..last + 2 * ELEMENTS).contains(&at);
                let expected = if is_written { wanted } else { 2.0 };
                assert_eq!(value, expected, "{traffic:?} at {at}");
            }
        }
    }

    #[test]
    fn plain_loops_and_those_of_this_machine_agree() {
        for traffic in Traffic::ALL {
            let filled = || {
                let mut memory = Memory([0.0; 8 * ELEMENTS]);
                memory.0.iter_mut().enumerate().for_each(|(at, value)| *value = at as f32);
                memory
            };
            let (mut by_area, mut by_hand) = (filled(), filled());
            let Some(mut area) = Area::cut(traffic, &mut by_area.0) else { continue };
            let length = area.blocks() * ELEMENTS;
            area.walk(0, length / ELEMENTS, 1);
            let (read, written) = by_hand.0.split_at_mut((traffic.arrays() - 1) * length);
            let (a, b) = read.split_at(length.min(read.len()));
            plain(traffic, a, b, &mut written[..length]);
            assert!(by_area.0 == by_hand.0, "{traffic:?}");
        }
    }
}
