//! Memory between guards: an access outside of it ends the process that makes it.

use super::page_bytes;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::{io, ptr, slice};

/// Bytes of inaccessible address space on either side of the body.
const GUARD_BYTES: usize = 64 * 1024;

/// Bytes of the words by which shared memory is read and written.
const WORD: usize = size_of::<u64>();

/// Bytes of a huge page.
pub const HUGE_BYTES: usize = 2 << 20;

/// A memory file of fixed size, to be shared with another process.
///
/// It is sealed against growing and shrinking: a process that holds it cannot make another's
/// mapping fault by truncating it.
pub fn memfd(name: &str, bytes: usize) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::ftruncate(&file, bytes as u64)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)?;
    Ok(file)
}

/// What a process may do with a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read; a write faults.
    ReadOnly,
    /// Read and write.
    ReadWrite,
}

/// Memory with a guard before and after it; unmapped on drop.
#[derive(Debug)]
pub struct Mapping {
    area: *mut u8,
    area_bytes: usize,
    /// Bytes before the body: the guard, and what aligns the body.
    lead: usize,
    bytes: usize,
    access: Access,
    /// Whether other processes may have it too.
    is_shared: bool,
}

// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl Send for Mapping {}
// SAFETY: `&Mapping` only reads, shared memory by atomic loads; raw pointers from `base` are their
// user's to order.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `bytes` of a file, shared with every other process that maps it.
    ///
    /// The body ends on a page: where `bytes` does not, the rest of its last page is accessible.
    pub fn of_file(file: BorrowedFd<'_>, bytes: usize, access: Access) -> io::Result<Mapping> {
        Mapping::of_file_aligned(file, bytes, access, page_bytes())
    }

    /// The same at an address that is a multiple of `align`, a power of two of whole pages: the
    /// kernel maps huge pages only where address and file are aligned alike.
    pub fn of_file_aligned(
        file: BorrowedFd<'_>,
        bytes: usize,
        access: Access,
        align: usize,
    ) -> io::Result<Mapping> {
        let held = rustix::fs::fstat(file)?.st_size as u64;
        if held < bytes as u64 {
            // Pages past the end of a file can be mapped, but fault.
            let message = format!("file holds {held} of {bytes} bytes to map");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let mut mapping = Mapping::reserve(bytes, align)?;
        let protection = match access {
            Access::ReadOnly => ProtFlags::READ,
            Access::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
        };
        (mapping.access, mapping.is_shared) = (access, true);
        if bytes > 0 {
            let flags = MapFlags::SHARED | MapFlags::FIXED;
            let (base, body) = (mapping.base().cast(), mapping.body_bytes());
            // SAFETY: the fixed range lies inside the area just reserved, which nothing else uses.
            unsafe { mmap(base, body, protection, flags, file, 0) }?;
        }
        Ok(mapping)
    }

    /// Zeroed memory of this process alone.
    pub fn anonymous(bytes: usize) -> io::Result<Mapping> {
        Mapping::anonymous_aligned(bytes, page_bytes())
    }

    /// The same on pages of 2 MiB, where the kernel gives them once they are touched.
    pub fn anonymous_huge(bytes: usize) -> io::Result<Mapping> {
        let mapping = Mapping::anonymous_aligned(bytes, HUGE_BYTES)?;
        if bytes > 0 {
            let (base, body) = (mapping.base().cast(), mapping.body_bytes());
            // SAFETY: the range is this mapping's; the advice changes no byte of it. A kernel
            // without huge pages refuses it, and gives others.
            let _ = unsafe { madvise(base, body, Advice::LinuxHugepage) };
        }
        Ok(mapping)
    }

    fn anonymous_aligned(bytes: usize, align: usize) -> io::Result<Mapping> {
        let mapping = Mapping::reserve(bytes, align)?;
        if bytes > 0 {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            let flags = MapFlags::PRIVATE | MapFlags::FIXED;
            let (base, body) = (mapping.base().cast(), mapping.body_bytes());
            // SAFETY: the fixed range lies inside the area just reserved, which nothing else uses.
            unsafe { mmap_anonymous(base, body, protection, flags) }?;
        }
        Ok(mapping)
    }

    /// Reserves guard, body and guard, all of it inaccessible.
    fn reserve(bytes: usize, align: usize) -> io::Result<Mapping> {
        if !align.is_power_of_two() || align < page_bytes() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let area_bytes = bytes
            .checked_next_multiple_of(page_bytes())
            .and_then(|body| body.checked_add(2 * GUARD_BYTES + align - page_bytes()))
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses the address, so that no existing mapping is touched.
        let area =
            unsafe { mmap_anonymous(ptr::null_mut(), area_bytes, ProtFlags::empty(), flags) }?;
        let start = area as usize;
        let lead = (start + GUARD_BYTES).next_multiple_of(align) - start;
        let (area, access) = (area.cast(), Access::ReadWrite);
        Ok(Mapping { area, area_bytes, lead, bytes, access, is_shared: false })
    }

    /// Has the kernel map every page now, so that no later access waits for it.
    pub fn populate(&self) {
        let advice = match self.access {
            Access::ReadOnly => Advice::LinuxPopulateRead,
            Access::ReadWrite => Advice::LinuxPopulateWrite,
        };
        if self.bytes > 0 {
            // SAFETY: the range is this mapping's own body; no byte of it changes. A kernel that
            // refuses maps pages when they are touched.
            let _ = unsafe { madvise(self.base().cast(), self.body_bytes(), advice) };
        }
    }

    /// Bytes of the body: whole pages.
    fn body_bytes(&self) -> usize {
        self.bytes.next_multiple_of(page_bytes())
    }

    /// Address of the first byte: on a page, right after the leading guard.
    pub fn base(&self) -> *mut u8 {
        self.area.wrapping_add(self.lead)
    }

    /// Bytes asked for.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether no bytes were asked for.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The least number of bytes of each guard.
    pub fn guard_bytes(&self) -> usize {
        GUARD_BYTES
    }

    /// What may be done with it.
    pub fn access(&self) -> Access {
        self.access
    }

    /// The bytes of memory that this process alone has.
    ///
    /// # Panics
    /// If the memory is shared: no slice may lie over bytes that another process can write at any
    /// time. [`Mapping::copy_of`] reads those.
    pub fn bytes(&self) -> &[u8] {
        assert!(!self.is_shared, "shared memory has no slice: copy it");
        // SAFETY: the body is mapped and readable until drop (or empty, at a non-null address),
        // and private, so that only `bytes_mut` of this mapping gives a way to write it.
        unsafe { slice::from_raw_parts(self.base(), self.bytes) }
    }

    /// The same for writing.
    ///
    /// # Panics
    /// If the memory is shared: [`Mapping::write`] and [`Mapping::fill`] write that.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        assert!(!self.is_shared, "shared memory has no slice: write to it");
        // SAFETY: as above; it is writable, as all private memory is, and borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.base(), self.bytes) }
    }

    /// A copy of some bytes as they are now. Another process may write them meanwhile. Each aligned
    /// word of the copy is then from before or after that write, but the copy itself no longer
    /// changes.
    ///
    /// # Panics
    /// If the range does not lie within the memory.
    pub fn copy_of(&self, range: Range<usize>) -> Vec<u8> {
        let mut copy = vec![0; self.checked(&range).len()];
        let (head, words, tail) = parts(range);
        let (first, rest) = copy.split_at_mut(head.len());
        let (middle, last) = rest.split_at_mut(words.len());
        for (to, at) in first.iter_mut().zip(head).chain(last.iter_mut().zip(tail)) {
            *to = self.byte(at).load(Ordering::Relaxed);
        }
        for (to, at) in middle.as_chunks_mut().0.iter_mut().zip(words.step_by(WORD)) {
            *to = self.word(at).load(Ordering::Relaxed).to_ne_bytes();
        }
        copy
    }

    /// Writes some bytes from `at` on, also where another process reads or writes them.
    ///
    /// # Panics
    /// If the mapping is read-only or they do not lie within it.
    pub fn write(&mut self, at: usize, bytes: &[u8]) {
        let range = at..at.saturating_add(bytes.len());
        let word = |place: usize| bytes[place - at..].first_chunk().copied().unwrap_or_default();
        self.put(range, |place| bytes[place - at], word);
    }

    /// Fills a range with a word, again and again from the start of the range.
    ///
    /// # Panics
    /// If the mapping is read-only or the range does not lie within it.
    pub fn fill(&mut self, range: Range<usize>, word: [u8; WORD]) {
        let start = range.start;
        let byte = |place: usize| word[(place - start) % WORD];
        // Words of the memory are aligned wherever the range begins, so the word is rotated to
        // match.
        let turned = std::array::from_fn(|inside| byte(start.next_multiple_of(WORD) + inside));
        self.put(range, byte, |_| turned);
    }

    /// Writes a range, of which each byte and each whole word is a function of its place.
    fn put(
        &mut self,
        range: Range<usize>,
        byte: impl Fn(usize) -> u8,
        word: impl Fn(usize) -> [u8; WORD],
    ) {
        assert_eq!(self.access, Access::ReadWrite, "mapping is read-only");
        let (head, words, tail) = parts(self.checked(&range).clone());
        for at in head.chain(tail) {
            self.byte(at).store(byte(at), Ordering::Relaxed);
        }
        for at in words.step_by(WORD) {
            self.word(at).store(u64::from_ne_bytes(word(at)), Ordering::Relaxed);
        }
    }

    fn checked<'a>(&self, range: &'a Range<usize>) -> &'a Range<usize> {
        let bytes = self.bytes;
        let is_inside = range.start <= range.end && range.end <= bytes;
        assert!(is_inside, "{range:?} does not lie within {bytes} bytes");
        range
    }

    /// A byte that other processes may use too; it is only written through a writable mapping.
    fn byte(&self, at: usize) -> &AtomicU8 {
        debug_assert!(at < self.bytes);
        // SAFETY: the caller has checked that the place lies within the body, which is mapped and
        // readable until drop. Stores are made through `&mut self` only, beside which there is no
        // slice. Another process may write at any time; an atomic load expects that.
        unsafe { AtomicU8::from_ptr(self.base().add(at)) }
    }

    /// The same of a word at a multiple of its size.
    fn word(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at.is_multiple_of(WORD) && at + WORD <= self.bytes);
        // SAFETY: as above, and the base lies on a page, so that the word is aligned.
        unsafe { AtomicU64::from_ptr(self.base().add(at).cast()) }
    }
}

/// A range as bytes before the first whole word, whole words, and bytes after the last.
fn parts(range: Range<usize>) -> (Range<usize>, Range<usize>, Range<usize>) {
    let first = range.start.next_multiple_of(WORD).min(range.end);
    let last = (range.end / WORD * WORD).max(first);
    (range.start..first, first..last, last..range.end)
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the area was reserved by `reserve` and no borrow of it outlives the mapping.
        let unmapped = unsafe { munmap(self.area.cast(), self.area_bytes) };
        debug_assert!(unmapped.is_ok(), "munmap of an own area: {unmapped:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;

    /// The permissions of the mapping that holds `address`, as the kernel lists them.
    fn permissions(address: usize) -> Option<String> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().find_map(|line| {
            let (range, rest) = line.split_once(' ')?;
            let (start, end) = range.split_once('-')?;
            let number = |text| usize::from_str_radix(text, 16).unwrap();
            (number(start)..number(end)).contains(&address).then(|| rest[..4].to_owned())
        })
    }

    #[test]
    fn guards_on_both_sides_are_inaccessible_and_the_body_is_not() {
        let file = memfd("test", 10_000).unwrap();
        let reader = Mapping::of_file(file.as_fd(), 10_000, Access::ReadOnly).unwrap();
        let writer = Mapping::of_file(file.as_fd(), 10_000, Access::ReadWrite).unwrap();
        let own = Mapping::anonymous(10_000).unwrap();
        let huge = Mapping::anonymous_huge(10_000).unwrap();
        assert_eq!(huge.base() as usize % HUGE_BYTES, 0);
        let body = 10_000usize.next_multiple_of(page_bytes());
        let own = [(&own, "rw-p"), (&huge, "rw-p")];
        for (mapping, inside) in [(&reader, "r--s"), (&writer, "rw-s")].into_iter().chain(own) {
            let base = mapping.base() as usize;
            let guard = mapping.guard_bytes();
            for at in [base, base + body - 1] {
                assert_eq!(permissions(at).as_deref(), Some(inside));
            }
            for at in [base - guard, base - 1, base + body, base + body + guard - 1] {
                assert_eq!(permissions(at).as_deref(), Some("---p"));
            }
        }
    }

    #[test]
    fn an_aligned_mapping_keeps_its_guards() {
        let (bytes, align) = (2 * page_bytes(), 2 << 20);
        let file = memfd("test", bytes).unwrap();
        for _ in 0..4 {
            let mapping =
                Mapping::of_file_aligned(file.as_fd(), bytes, Access::ReadOnly, align).unwrap();
            let (base, guard) = (mapping.base() as usize, mapping.guard_bytes());
            assert_eq!(base % align, 0);
            assert_eq!(permissions(base + bytes - 1).as_deref(), Some("r--s"));
            for at in [base - guard, base - 1, base + bytes, base + bytes + guard - 1] {
                assert_eq!(permissions(at).as_deref(), Some("---p"));
            }
        }
        assert!(Mapping::of_file_aligned(file.as_fd(), bytes, Access::ReadOnly, 3).is_err());
    }

    #[test]
    fn two_mappings_of_a_file_share_their_bytes() {
        let file = memfd("test", 5000).unwrap();
        let reader = Mapping::of_file(file.as_fd(), 5000, Access::ReadOnly).unwrap();
        let mut writer = Mapping::of_file(file.as_fd(), 5000, Access::ReadWrite).unwrap();
        writer.write(4999, &[7]);
        assert_eq!(reader.copy_of(4999..5000), [7]);
        assert_eq!((reader.len(), reader.access()), (5000, Access::ReadOnly));
    }

    #[test]
    fn a_memory_file_keeps_its_size() {
        let file = memfd("test", 4096).unwrap();
        assert!(rustix::fs::ftruncate(&file, 0).is_err());
        assert!(rustix::fs::ftruncate(&file, 8192).is_err());
        let refused = Mapping::of_file(file.as_fd(), 4097, Access::ReadOnly).unwrap_err();
        assert_eq!(refused.to_string(), "file holds 4096 of 4097 bytes to map");
    }

    #[test]
    fn empty_mappings_work() {
        let file = memfd("test", 0).unwrap();
        let mapping = Mapping::of_file(file.as_fd(), 0, Access::ReadOnly).unwrap();
        assert!(mapping.is_empty() && mapping.copy_of(0..0).is_empty());
        assert!(Mapping::anonymous(0).unwrap().bytes_mut().is_empty());
    }

    #[test]
    fn dropping_a_mapping_gives_its_addresses_back() {
        // A unique size, so that no mapping of another thread can take the same range.
        let bytes = 301 * page_bytes();
        let mapping = Mapping::anonymous(bytes).unwrap();
        let base = mapping.base() as usize;
        let line = format!("{base:x}-{:x} rw-p", base + bytes);
        let held = || std::fs::read_to_string("/proc/self/maps").unwrap().contains(&line);
        assert!(held());
        drop(mapping);
        assert!(!held());
    }

    #[test]
    #[should_panic(expected = "read-only")]
    fn writing_through_a_read_only_mapping_is_refused() {
        let file = memfd("test", 1).unwrap();
        Mapping::of_file(file.as_fd(), 1, Access::ReadOnly).unwrap().write(0, &[1]);
    }

    #[test]
    #[should_panic(expected = "shared memory has no slice")]
    fn shared_memory_gives_no_slice_that_another_process_could_write() {
        let file = memfd("test", 1).unwrap();
        Mapping::of_file(file.as_fd(), 1, Access::ReadOnly).unwrap().bytes();
    }

    #[test]
    #[should_panic(expected = "does not lie within")]
    fn a_copy_stays_within_the_memory() {
        Mapping::anonymous(8).unwrap().copy_of(8..9);
    }

    #[test]
    fn every_range_is_copied_written_and_filled_alone() {
        let file = memfd("test", 64).unwrap();
        let mut memory = Mapping::of_file(file.as_fd(), 64, Access::ReadWrite).unwrap();
        let word = *b"abcdefgh";
        for start in 0..=40 {
            for end in start..=40 {
                let mut expected = vec![b'.'; 64];
                memory.write(0, &expected);
                memory.fill(start..end, word);
                for (at, byte) in expected[start..end].iter_mut().enumerate() {
                    *byte = word[at % 8];
                }
                assert_eq!(memory.copy_of(0..64), expected, "{start}..{end}");
                assert_eq!(memory.copy_of(start..end), expected[start..end]);
                let written: Vec<u8> = (0..end - start).map(|at| at as u8).collect();
                memory.write(start, &written);
                expected[start..end].copy_from_slice(&written);
                assert_eq!(memory.copy_of(0..64), expected, "{start}..{end}");
            }
        }
    }
}
