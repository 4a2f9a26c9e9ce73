//! Samples that a worker takes of itself, for systems whose kernel does not allow its clock event.

use crate::{Fault, Worker};
use proofmark_schema::wire::samples::{FIRST, HERTZ, TAKEN};
use proofmark_tensor::{Access, Mapping, memfd};
use rustix::fd::{AsFd, OwnedFd};
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Samples that are kept between two looks: a minute at the ticks of most kernels.
const ROOM: usize = 1 << 16;

/// The memory that the worker's handler writes to.
#[derive(Debug)]
pub(crate) struct OwnSamples(Mapping);

/// What a worker noted since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// Where its threads were.
    pub addresses: Vec<u64>,
    /// Samples for which there was no room.
    pub lost: u64,
}

impl OwnSamples {
    /// Memory for samples, and the file that is handed to the worker.
    pub(crate) fn new(hertz: u64) -> Result<(OwnSamples, OwnedFd), Fault> {
        let make = || -> io::Result<(OwnSamples, OwnedFd)> {
            let bytes = (FIRST + ROOM) * size_of::<u64>();
            let file = memfd("samples", bytes)?;
            let memory = Mapping::of_file(file.as_fd(), bytes, Access::ReadWrite)?;
            Ok((OwnSamples(memory), file))
        };
        let (samples, file) = make().map_err(|error| Fault::world("memory for samples", error))?;
        samples.words()[HERTZ].store(hertz, Relaxed);
        Ok((samples, file))
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds so many bytes, page aligned, any bits are valid atomics, and
        // both sides use atomics only.
        unsafe { std::slice::from_raw_parts(self.0.base().cast(), FIRST + ROOM) }
    }

    /// What was noted since the last time. The count comes from the worker and is not trusted as a
    /// bound.
    fn take(&self) -> Noted {
        let (head, places) = self.words().split_at(FIRST);
        let taken = head[TAKEN].swap(0, Relaxed);
        let kept = places.iter().take(usize::try_from(taken).unwrap_or(ROOM));
        let addresses = kept.map(|place| place.load(Relaxed)).collect();
        Noted { addresses, lost: taken.saturating_sub(ROOM as u64) }
    }
}

impl Worker {
    /// Where its threads were since the last look; nothing unless it was started to be sampled.
    pub fn take_samples(&mut self) -> Noted {
        self.own_samples.as_ref().map(OwnSamples::take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_taken_once_and_those_without_room_are_counted() {
        let (samples, _file) = OwnSamples::new(100).unwrap();
        let words = samples.words();
        words[FIRST].store(0xabc, Relaxed);
        words[TAKEN].store(1, Relaxed);
        assert_eq!(samples.take(), Noted { addresses: vec![0xabc], lost: 0 });
        assert_eq!(samples.take(), Noted::default());
        for (said, lost) in [(ROOM as u64, 0), (ROOM as u64 + 7, 7), (u64::MAX, u64::MAX - 65536)] {
            words[TAKEN].store(said, Relaxed);
            let noted = samples.take();
            assert_eq!((noted.addresses.len(), noted.lost), (ROOM, lost), "{said}");
        }
    }
}
