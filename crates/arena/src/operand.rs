//! Operands as the supervisor holds them: a memory file, guards, canaries in every byte of slack.

use crate::poison::poison_word;
use proofmark_schema::wire::OperandMap;
use proofmark_schema::{DType, Pages};
use proofmark_tensor::{
    Access, HUGE_BYTES, Layout, Mapping, Placement, Tensor, check_canary, memfd, mix, write_canary,
};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::SealFlags;
use std::ops::Range;
use std::{fmt, io};

/// How an operand must be laid out.
#[derive(Clone, Debug, PartialEq)]
pub struct OperandPlan {
    /// Name in the op's signature.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Shape and row stride.
    pub layout: Layout,
    /// Where it lies between its guards.
    pub placement: Placement,
    /// The kernel may write it; else it is mapped read-only in the worker.
    pub writable: bool,
    /// Copies of it that calls may walk over; at least 1.
    pub sets: usize,
    /// The pages that it is to lie on; the kernel may decide otherwise.
    pub pages: Pages,
    /// Workers change it between calls, through a mapping of their own in addition to the kernel's.
    /// They can make such a mapping until [`crate::Worker::seal_inputs`].
    pub changes: bool,
}

/// Bytes of a cache line. Every set starts on a line, as the first does, and one line lies between
/// two sets.
const LINE_BYTES: usize = 64;

/// A byte that a kernel wrote outside of its operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// Name of the operand next to it.
    pub operand: String,
    /// Where it lies.
    pub place: StrayPlace,
}

/// Where a stray byte lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrayPlace {
    /// This many bytes before the first element.
    BeforeStart(usize),
    /// This many bytes after the first byte past the last element.
    PastEnd(usize),
    /// In the padding after a row.
    BetweenRows {
        /// The row before it.
        row: usize,
        /// Bytes from that row's end.
        bytes: usize,
    },
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: ", self.operand)?;
        match self.place {
            StrayPlace::BeforeStart(bytes) => write!(f, "{bytes} bytes before the start"),
            StrayPlace::PastEnd(0) => write!(f, "first byte past the end"),
            StrayPlace::PastEnd(bytes) => write!(f, "{bytes} bytes past the end"),
            StrayPlace::BetweenRows { row, bytes } => {
                write!(f, "padding between rows, {bytes} bytes after row {row}")
            }
        }
    }
}

/// An operand in memory that the worker maps too.
#[derive(Debug)]
pub(crate) struct Attached {
    plan: OperandPlan,
    file: OwnedFd,
    mapping: Mapping,
    /// One for each set.
    tensors: Vec<Tensor>,
    offset: usize,
    /// Bytes from one set to the next.
    set_bytes: usize,
    seed: u64,
}

impl Attached {
    /// Makes the memory and the file to send; zeros inside, canaries around.
    pub(crate) fn new(plan: &OperandPlan, seed: u64) -> io::Result<Attached> {
        let span = plan.layout.span().saturating_mul(plan.dtype.size());
        if span > isize::MAX as usize / 2 {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let set_bytes = span.next_multiple_of(LINE_BYTES) + LINE_BYTES;
        let more =
            (plan.sets.max(1) - 1).checked_mul(set_bytes).ok_or(io::ErrorKind::OutOfMemory)?;
        let all = span + more;
        let mut body = Placement::needed(all);
        let offset = plan.placement.offset(body, all, plan.dtype.size());
        if plan.pages == Pages::Huge {
            body = body.next_multiple_of(HUGE_BYTES);
        }
        let file = memfd(&plan.name, body)?;
        let align = align_bytes(plan.pages);
        let mapping = Mapping::of_file_aligned(file.as_fd(), body, Access::ReadWrite, align)?;
        if !plan.writable && !plan.changes {
            seal(&file)?;
        }
        let tensors = tensors(plan, &mapping, offset, set_bytes, true);
        let plan = plan.clone();
        let mut attached = Attached { plan, file, mapping, tensors, offset, set_bytes, seed };
        attached.write_canaries();
        if attached.plan.pages == Pages::Huge {
            collapse(&attached.mapping);
        }
        Ok(attached)
    }

    /// The same memory for another worker. If it is read-only for workers, it is read-only here
    /// too.
    pub(crate) fn again(&self) -> io::Result<Attached> {
        let Attached { plan, offset, set_bytes, seed, .. } = self;
        let file = self.file.try_clone()?;
        let access = if plan.writable { Access::ReadWrite } else { Access::ReadOnly };
        let align = align_bytes(plan.pages);
        let mapping = Mapping::of_file_aligned(file.as_fd(), self.mapping.len(), access, align)?;
        let tensors = tensors(plan, &mapping, *offset, *set_bytes, plan.writable);
        let (plan, offset, set_bytes, seed) = (plan.clone(), *offset, *set_bytes, *seed);
        Ok(Attached { plan, file, mapping, tensors, offset, set_bytes, seed })
    }

    /// Forbids further writable mappings, if it is an input that changes between calls.
    pub(crate) fn seal(&self) -> io::Result<()> {
        if self.plan.changes { seal(&self.file) } else { Ok(()) }
    }

    /// Bytes that a worker maps a second time, to change them.
    pub(crate) fn changing_bytes(&self) -> u64 {
        if self.plan.changes { self.file_bytes() } else { 0 }
    }

    /// An element of a set, out of the aligned word of 8 bytes that holds it.
    pub(crate) fn element_of_word(&self, word: u64, (row, col): (usize, usize)) -> u64 {
        let size = self.plan.dtype.size();
        let at = self.offset + (row * self.plan.layout.row_stride + col) * size;
        word >> (8 * (at % 8)) & (u64::MAX >> (64 - 8 * size))
    }

    /// The file to send.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// What the worker must know to map it.
    pub(crate) fn map(&self) -> OperandMap {
        OperandMap {
            name: self.plan.name.clone(),
            dtype: self.plan.dtype,
            shape: self.plan.layout.shape.clone(),
            row_stride: self.plan.layout.row_stride,
            file_bytes: self.mapping.len(),
            offset_bytes: self.offset,
            sets: self.tensors.len(),
            set_bytes: self.set_bytes,
            align_bytes: align_bytes(self.plan.pages),
            writable: self.plan.writable,
            changes: self.plan.changes,
        }
    }

    pub(crate) fn tensor(&self, set: usize) -> &Tensor {
        &self.tensors[set]
    }

    pub(crate) fn tensor_mut(&mut self, set: usize) -> &mut Tensor {
        &mut self.tensors[set]
    }

    /// Bytes of the memory file.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.mapping.len() as u64
    }

    fn span_bytes(&self) -> usize {
        self.plan.layout.span() * self.plan.dtype.size()
    }

    fn row_bytes(&self) -> usize {
        self.plan.layout.cols() * self.plan.dtype.size()
    }

    /// Rows that hold elements, of all sets, as ranges of the file.
    fn rows(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let count = if self.plan.layout.is_empty() { 0 } else { self.plan.layout.rows() };
        let (offset, length, set_bytes) = (self.offset, self.row_bytes(), self.set_bytes);
        let stride = self.plan.layout.row_stride * self.plan.dtype.size();
        (0..self.tensors.len()).flat_map(move |set| {
            let start = offset + set * set_bytes;
            (0..count).map(move |row| start + row * stride..start + row * stride + length)
        })
    }

    /// Every range of the file that holds no element, in order.
    fn slack(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let ends = std::iter::once(0).chain(self.rows().map(|row| row.end));
        let starts = self.rows().map(|row| row.start).chain([self.mapping.len()]);
        ends.zip(starts).map(|(end, start)| end..start).filter(|gap| !gap.is_empty())
    }

    fn write_canaries(&mut self) {
        let seed = self.seed;
        for gap in self.slack() {
            let at = gap.start as u64;
            let mut canary = vec![0; gap.len()];
            write_canary(&mut canary, mix(seed, at, 0));
            self.mapping.write(gap.start, &canary);
        }
    }

    /// The first byte of slack that was changed.
    pub(crate) fn stray(&self) -> Option<Stray> {
        if !self.plan.writable {
            return None;
        }
        let at = self.slack().find_map(|gap| {
            let seed = mix(self.seed, gap.start as u64, 0);
            check_canary(&self.mapping.copy_of(gap.clone()), seed).map(|inside| gap.start + inside)
        })?;
        let place = if at < self.offset {
            StrayPlace::BeforeStart(self.offset - at)
        } else {
            let set = ((at - self.offset) / self.set_bytes).min(self.tensors.len() - 1);
            let inside = at - self.offset - set * self.set_bytes;
            self.place_inside(inside)
        };
        Some(Stray { operand: self.plan.name.clone(), place })
    }

    /// The place of a byte of slack that lies `inside` bytes after a set's first element.
    fn place_inside(&self, inside: usize) -> StrayPlace {
        if inside >= self.span_bytes() {
            StrayPlace::PastEnd(inside - self.span_bytes())
        } else {
            let stride = self.plan.layout.row_stride * self.plan.dtype.size();
            StrayPlace::BetweenRows {
                row: inside / stride,
                bytes: inside % stride - self.row_bytes(),
            }
        }
    }

    /// Fills every element with poison.
    pub(crate) fn poison(&mut self, pattern: u64) {
        let word = poison_word(self.plan.dtype, pattern);
        for row in self.rows() {
            self.mapping.fill(row, word);
        }
    }

    /// The first element of the first set, in logical order, that still holds its poison.
    pub(crate) fn unwritten(&self, pattern: u64) -> Option<usize> {
        let word = poison_word(self.plan.dtype, pattern);
        let (size, cols) = (self.plan.dtype.size(), self.plan.layout.cols());
        let count = self.plan.layout.rows();
        self.rows().take(count).enumerate().find_map(|(row, range)| {
            let bytes = self.mapping.copy_of(range);
            let held = bytes.chunks_exact(size).enumerate().position(|(col, element)| {
                let at = col * size % 8;
                element == &word[at..at + size]
            });
            held.map(|col| row * cols + col)
        })
    }

    /// Names an address of the worker, which has element 0 at `base`, if it lies in or next to this
    /// operand.
    pub(crate) fn name_address(&self, address: u64, base: u64) -> Option<String> {
        let guard = self.mapping.guard_bytes() as i128;
        let (offset, file) = (self.offset as i128, self.mapping.len() as i128);
        let span = (self.span_bytes() + (self.tensors.len() - 1) * self.set_bytes) as i128;
        let at = i128::from(address) - i128::from(base);
        if base == 0 || at < -offset - guard || at >= file - offset + guard {
            return None;
        }
        let name = &self.plan.name;
        let guard = if at < -offset || at >= file - offset { " (guard page)" } else { "" };
        Some(match at {
            _ if at < 0 => format!("`{name}`{at}: {} bytes before the start{guard}", -at),
            _ if at == span => format!("`{name}`+{at}: first byte past the end{guard}"),
            _ if at > span => format!("`{name}`+{at}: {} bytes past the end{guard}", at - span),
            _ if self.plan.writable => format!("`{name}`+{at}: inside"),
            _ => {
                format!("inside read-only input `{name}` at byte {at} (write to a read-only input)")
            }
        })
    }
}

/// The sets of an operand in its mapping.
fn tensors(
    plan: &OperandPlan,
    mapping: &Mapping,
    offset: usize,
    set_bytes: usize,
    writable: bool,
) -> Vec<Tensor> {
    let tensor = |set: usize| {
        let base = mapping.base().wrapping_add(offset + set * set_bytes);
        // SAFETY: the spans of all sets lie in the mapping, as the placement has checked; it is
        // readable, and writable if `writable`, and kept beside the tensors, which do not overlap.
        // In a race, workers are stopped while it is not their turn, and the supervisor reads and
        // writes only in its own. A proof's worker could write at any time: what is read then may
        // be any bits, which every element type allows.
        unsafe { Tensor::from_raw(base, plan.dtype, plan.layout.clone(), writable) }
    };
    (0..plan.sets.max(1)).map(tensor).collect()
}

/// After this call no process can make another writable mapping of the file. Existing ones stay.
fn seal(file: &OwnedFd) -> io::Result<()> {
    Ok(rustix::fs::fcntl_add_seals(file, SealFlags::FUTURE_WRITE)?)
}

/// What the address of an operand's file must be a multiple of.
fn align_bytes(pages: Pages) -> usize {
    match pages {
        Pages::Small => rustix::param::page_size(),
        Pages::Huge => HUGE_BYTES,
    }
}

/// Asks the kernel to put the file on huge pages now, whatever its policy for shared memory. The
/// kernel may refuse; the list of the worker's mappings shows whether it did.
fn collapse(mapping: &Mapping) {
    // SAFETY: the whole mapping is ours; the call moves its contents and changes no byte.
    unsafe { libc::madvise(mapping.base().cast(), mapping.len(), libc::MADV_COLLAPSE) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(layout: Layout, placement: Placement) -> OperandPlan {
        OperandPlan {
            name: "y".into(),
            dtype: DType::F32,
            layout,
            placement,
            writable: true,
            sets: 1,
            pages: Pages::Small,
            changes: false,
        }
    }

    fn attached(layout: Layout, placement: Placement) -> Attached {
        Attached::new(&plan(layout, placement), 7).unwrap()
    }

    #[test]
    fn the_same_memory_is_seen_twice_and_inputs_stay_read_only() {
        for writable in [false, true] {
            let one = plan(Layout::dense([3, 5]), Placement::Shifted(64));
            let mut y = Attached::new(&OperandPlan { writable, ..one }, 7).unwrap();
            let again = y.again().unwrap();
            y.tensor_mut(0).from_f64(&[2.5; 15]);
            assert_eq!(again.tensor(0).to_f64(), [2.5; 15]);
            assert_eq!((again.stray(), again.map()), (None, y.map()));
            assert_eq!(again.tensor(0).is_writable(), writable);
        }
    }

    #[test]
    fn sets_lie_apart_on_lines_of_their_own_and_strays_between_them_are_found() {
        for pages in Pages::ALL {
            let one = plan(Layout::dense([3, 5]), Placement::Shifted(192));
            let mut y = Attached::new(&OperandPlan { sets: 4, pages, ..one }, 7).unwrap();
            for set in 0..4 {
                let values = [set as f64; 15];
                y.tensor_mut(set).from_f64(&values);
                assert_eq!((y.offset + set * y.set_bytes) % 64, 0);
            }
            assert!((0..4).all(|set| y.tensor(set).to_f64() == [set as f64; 15]));
            assert_eq!(y.stray(), None);
            let at = y.offset + 2 * y.set_bytes + 60 + 3;
            y.mapping.write(at, &[y.mapping.copy_of(at..at + 1)[0] ^ 1]);
            assert_eq!(y.stray().unwrap().place, StrayPlace::PastEnd(3));
        }
    }

    #[test]
    fn every_changed_byte_of_slack_is_found_and_no_element_is() {
        let mut y = attached(Layout::padded([3, 5], 7), Placement::Aligned64);
        let (start, span) = (y.offset, y.span_bytes());
        assert_eq!(span, (2 * 7 + 5) * 4);
        assert_eq!(y.stray(), None);
        let mut rows_seen = 0;
        for at in start - 64..start + span + 64 {
            y.mapping.write(at, &[y.mapping.copy_of(at..at + 1)[0] ^ 1]);
            let stray = y.stray().map(|stray| stray.place);
            let inside = at.wrapping_sub(start);
            let expected = if at < start {
                Some(StrayPlace::BeforeStart(start - at))
            } else if inside >= span {
                Some(StrayPlace::PastEnd(inside - span))
            } else if inside % 28 >= 20 {
                Some(StrayPlace::BetweenRows { row: inside / 28, bytes: inside % 28 - 20 })
            } else {
                rows_seen += 1;
                None
            };
            assert_eq!(stray, expected, "byte {at}");
            y.mapping.write(at, &[y.mapping.copy_of(at..at + 1)[0] ^ 1]);
        }
        assert_eq!(rows_seen, 60);
    }

    #[test]
    fn poison_fills_elements_only_and_an_unwritten_one_is_found() {
        let mut y = attached(Layout::padded([2, 3], 5), Placement::EndFlush);
        y.poison(9);
        assert_eq!((y.stray(), y.unwritten(9)), (None, Some(0)));
        assert!(y.tensor(0).to_f64().iter().all(|value| value.is_nan()));
        y.tensor_mut(0).from_f64(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(y.unwritten(9), None);
        let word = poison_word(DType::F32, 9);
        y.tensor_mut(0).rows_mut::<f32>().unwrap().row_mut(1)[2] =
            f32::from_le_bytes(word[..4].try_into().unwrap());
        assert_eq!(y.unwritten(9), Some(5));
    }

    #[test]
    fn addresses_are_named_by_their_operand() {
        let y = attached(Layout::dense([4]), Placement::EndFlush);
        let base = 0x10_0000;
        let name = |address: u64| y.name_address(address, base);
        assert_eq!(name(base - 4).unwrap(), "`y`-4: 4 bytes before the start");
        assert_eq!(name(base + 16).unwrap(), "`y`+16: first byte past the end (guard page)");
        assert_eq!(name(base + 20).unwrap(), "`y`+20: 4 bytes past the end (guard page)");
        assert_eq!(name(base + 8).unwrap(), "`y`+8: inside");
        assert_eq!(name(base + 16 + 64 * 1024), None);
        assert_eq!(name(8), None);
        let y = attached(Layout::dense([4]), Placement::StartFlush);
        assert_eq!(
            y.name_address(base - 1, base).unwrap(),
            "`y`-1: 1 bytes before the start (guard page)"
        );
    }

    #[test]
    fn operands_without_elements_are_slack_only() {
        let mut y = attached(Layout::dense([0]), Placement::Aligned64);
        y.poison(1);
        assert_eq!((y.stray(), y.unwritten(1)), (None, None));
        let at = y.offset;
        y.mapping.write(at, &[y.mapping.copy_of(at..at + 1)[0] ^ 1]);
        assert_eq!(y.stray().unwrap().place, StrayPlace::PastEnd(0));
    }
}
