//! A store of buffers that later requests of a similar size reuse.

use super::AlignedBuffer;

/// Classes of sizes: powers of two up to the largest that a 64-bit address can have.
const CLASSES: usize = 48;

/// Buffers given back, by size; a request is served by one of its class if there is one.
///
/// A buffer still holds what its last user left in it. It is meant for scratch memory, which is
/// written before it is read.
#[derive(Debug)]
pub struct Recycler {
    free: [Vec<AlignedBuffer>; CLASSES],
    kept_bytes: usize,
    most_bytes: usize,
    hits: u64,
    misses: u64,
}

impl Recycler {
    /// A recycler that keeps at most this many bytes.
    pub const fn new(most_bytes: usize) -> Recycler {
        let free = [const { Vec::new() }; CLASSES];
        Recycler { free, kept_bytes: 0, most_bytes, hits: 0, misses: 0 }
    }

    /// A buffer of at least this many bytes.
    pub fn take(&mut self, bytes: usize) -> AlignedBuffer {
        if bytes == 0 {
            return AlignedBuffer::new(0);
        }
        let size = bytes.next_power_of_two();
        if let Some(buffer) = self.free[class(size)].pop() {
            self.hits += 1;
            self.kept_bytes -= size;
            return buffer;
        }
        self.misses += 1;
        AlignedBuffer::new(size)
    }

    /// Keeps a buffer that was taken, unless that would exceed the limit.
    pub fn give(&mut self, buffer: AlignedBuffer) {
        let size = buffer.as_slice().len();
        let is_ours = size.is_power_of_two();
        if is_ours && self.kept_bytes + size <= self.most_bytes {
            self.kept_bytes += size;
            self.free[class(size)].push(buffer);
        }
    }

    /// Requests that were served by a kept buffer, and those that were not.
    pub fn served(&self) -> (u64, u64) {
        (self.hits, self.misses)
    }
}

fn class(size: usize) -> usize {
    (size.trailing_zeros() as usize).min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_given_back_serves_the_next_request_of_its_size() {
        let mut recycler = Recycler::new(1 << 20);
        let first = recycler.take(1000);
        assert!(first.as_slice().len() >= 1000);
        let address = first.as_slice().as_ptr();
        recycler.give(first);
        assert_eq!(recycler.take(700).as_slice().as_ptr(), address);
        assert_eq!(recycler.served(), (1, 1));
        assert_ne!(recycler.take(700).as_slice().as_ptr(), address, "it is taken");
    }

    #[test]
    fn no_more_is_kept_than_allowed() {
        let mut recycler = Recycler::new(4096);
        let buffers: Vec<AlignedBuffer> = (0..4).map(|_| recycler.take(2048)).collect();
        buffers.into_iter().for_each(|buffer| recycler.give(buffer));
        assert_eq!(recycler.kept_bytes, 4096);
        for _ in 0..4 {
            recycler.take(2048);
        }
        assert_eq!(recycler.served(), (2, 6));
    }

    #[test]
    fn nothing_costs_nothing() {
        let mut recycler = Recycler::new(0);
        let nothing = recycler.take(0);
        assert!(nothing.as_slice().is_empty());
        recycler.give(nothing);
        assert_eq!(recycler.served(), (0, 0));
    }
}
