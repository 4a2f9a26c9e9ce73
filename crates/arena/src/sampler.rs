//! Where a worker's threads are, many times a second: the kernel's clock event, which needs no
//! hardware counters and no help from the worker.

use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a thread was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The address of its next instruction.
    pub address: u64,
    /// The thread.
    pub thread: u32,
}

/// The samples of one thread of another process.
#[derive(Debug)]
pub struct Sampler {
    _event: OwnedFd,
    ring: Ring,
}

/// The memory that the kernel writes samples to: a page of its own, then data.
#[derive(Debug)]
struct Ring {
    base: *mut libc::c_void,
    bytes: usize,
}

/// Pages of data; a power of two.
const DATA_PAGES: usize = 64;

/// The parts of `perf_event_attr` that are used, in the layout of its first version and with the
/// size of its fifth.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period_or_frequency: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    rest: [u64; 8],
}

const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
const SAMPLE_IP: u64 = 1;
const SAMPLE_TID: u64 = 2;
/// Bits of the flags: exclude the kernel, exclude the hypervisor, sample by frequency and not by
/// period.
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const IS_FREQUENCY: u64 = 1 << 10;
/// A record that is a sample.
const RECORD_SAMPLE: u32 = 9;
/// Where the kernel's page says how far data was written and read, in bytes.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

impl Sampler {
    /// Samples a thread, 0 for the calling one, `hertz` times a second while it runs.
    ///
    /// # Errors
    /// If the kernel does not allow it (`kernel.perf_event_paranoid`, a container's filter).
    pub fn open(thread: u32, hertz: u64) -> io::Result<Sampler> {
        let attributes = Attributes {
            kind: SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: CPU_CLOCK,
            period_or_frequency: hertz,
            sample_type: SAMPLE_IP | SAMPLE_TID,
            flags: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR | IS_FREQUENCY,
            ..Attributes::default()
        };
        let (any_cpu, no_group, close_on_exec) = (-1i32, -1i32, 8u64);
        // SAFETY: the structure is as large as it says and lives through the call.
        let number = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                thread.cast_signed(),
                any_cpu,
                no_group,
                close_on_exec,
            )
        };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has just opened this descriptor, and nothing else holds it.
        let event = unsafe { OwnedFd::from_raw_fd(number as i32) };
        let ring = Ring::map(&event)?;
        Ok(Sampler { _event: event, ring })
    }

    /// The samples since the last time; more than the memory holds are lost.
    pub fn take(&mut self) -> Vec<Sample> {
        let (head, mut at) = (self.ring.word(HEAD).load(Ordering::Acquire), self.tail());
        let mut samples = Vec::new();
        while at + 8 <= head {
            let header = self.ring.data(at);
            let (kind, size) = (header as u32, header >> 48);
            if size == 0 {
                break;
            }
            if kind == RECORD_SAMPLE && size >= 24 {
                let thread = (self.ring.data(at + 16) >> 32) as u32;
                samples.push(Sample { address: self.ring.data(at + 8), thread });
            }
            at += size;
        }
        self.ring.word(TAIL).store(head, Ordering::Release);
        samples
    }

    fn tail(&self) -> u64 {
        self.ring.word(TAIL).load(Ordering::Relaxed)
    }
}

impl Ring {
    fn map(event: &OwnedFd) -> io::Result<Ring> {
        let bytes = (DATA_PAGES + 1) * rustix::param::page_size();
        // SAFETY: a new mapping of a descriptor that is open, at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Ring { base, bytes })
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: both offsets that are asked for lie in the first page, at multiples of 8; the
        // kernel writes the words as one.
        unsafe { &*self.base.cast::<u8>().add(offset).cast::<AtomicU64>() }
    }

    /// The word of data at a position counted since the beginning; records lie at multiples of 8.
    fn data(&self, position: u64) -> u64 {
        let page = rustix::param::page_size();
        let offset = page + (position as usize & (DATA_PAGES * page - 1));
        // SAFETY: the offset lies in the data, at a multiple of 8; the kernel does not write what
        // lies between tail and head.
        unsafe { self.base.cast::<u8>().add(offset).cast::<u64>().read_volatile() }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's alone, and nothing refers to it any more.
        unsafe { libc::munmap(self.base, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn a_busy_thread_is_seen_where_it_is_busy() {
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        // Where the kernel forbids it there is nothing to test.
        let Ok(mut sampler) = Sampler::open(own, 1000) else { return };
        let mut samples = Vec::new();
        let mut sum = 0u64;
        for round in 0..2000u64 {
            (0..200_000u64).for_each(|n| sum = black_box(sum.wrapping_mul(31) ^ (n + round)));
            samples.extend(sampler.take());
            if samples.len() > 20 {
                break;
            }
        }
        assert!(samples.len() > 20, "{} samples", samples.len());
        assert!(samples.iter().all(|sample| sample.thread == own && sample.address > 4096));
    }

    #[test]
    fn a_thread_that_is_not_there_is_an_error() {
        assert!(Sampler::open(u32::MAX / 2, 1000).is_err());
    }
}
