//! Operands as the kernel sees them: inputs that cannot be written, guards around all.

use proofmark_contract::{Operand, Role, Signature};
use proofmark_schema::wire::{HandOver, OperandMap};
use proofmark_schema::{Cache, DType};
use proofmark_tensor::{Access, AlignedBuffer, Layout, Mapping, Tensor};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

/// Mapped operands: the sets that calls walk over, one unless the caches are to rotate.
pub(crate) struct Operands {
    /// What the caches must hold before every timed call.
    pub(crate) cache: Cache,
    pub(crate) sets: Vec<Set>,
    /// The set that the next call takes.
    pub(crate) next: usize,
    /// What the tensors lie in.
    _mappings: Vec<Mapping>,
}

/// The operands of one call, in its two groups.
#[derive(Default)]
pub(crate) struct Set {
    pub(crate) inputs: Vec<Tensor>,
    pub(crate) outputs: Vec<Tensor>,
    /// Its own copy of the packed weights; none in the first set, which uses the contender's.
    pub(crate) prepared: Option<AlignedBuffer>,
    pub(crate) spans: Vec<Span>,
    /// Every operand of the signature as this process may change it between calls.
    pub(crate) grids: Vec<Grid>,
}

/// An operand as rows and columns of raw elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// Element 0 where this process may write it; null where it may not.
    pub(crate) base: *mut u8,
    pub(crate) dtype: DType,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// Elements from one row to the next.
    pub(crate) row_stride: usize,
}

/// Where one operand lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: *const u8,
    pub(crate) bytes: usize,
    pub(crate) is_weight: bool,
}

impl Operands {
    /// Maps one file for each operand of the signature and tells the supervisor where.
    pub(crate) fn map(
        page: &HandOver,
        signature: &Signature,
        maps: &[OperandMap],
        files: &[OwnedFd],
        cache: Cache,
    ) -> Result<Operands, String> {
        let expected = signature.operands();
        if maps.len() != expected.len() || files.len() != expected.len() {
            let (got, files) = (maps.len(), files.len());
            return Err(format!("{got} operands and {files} files for {}", expected.len()));
        }
        let count = maps.first().map_or(1, |map| map.sets.max(1));
        let mut sets: Vec<Set> = (0..count).map(|_| Set::default()).collect();
        let mut mappings = Vec::new();
        for (i, (operand, map)) in expected.iter().zip(maps).enumerate() {
            check(operand, map, count)?;
            let access = if map.writable { Access::ReadWrite } else { Access::ReadOnly };
            let file = files[i].as_fd();
            let mapping = Mapping::of_file_aligned(file, map.file_bytes, access, map.align_bytes)
                .map_err(|error| format!("mapping operand `{}`: {error}", map.name))?;
            // The kernel is given the addresses of the read-only mapping alone.
            let writable = match map.changes {
                true => Some(writable(map, file)?),
                false => None,
            };
            let first = add(&mut sets, operand, map, &mapping, writable.as_ref())?;
            page.operand_base[i].store(first as u64, Ordering::Relaxed);
            mappings.extend(std::iter::once(mapping).chain(writable));
        }
        Ok(Operands { cache, sets, next: 0, _mappings: mappings })
    }

    /// Gives every further set a copy of the packed weights.
    pub(crate) fn copy_prepared(&mut self, prepared: &[u8]) {
        for set in self.sets.iter_mut().skip(1).filter(|_| !prepared.is_empty()) {
            let mut copy = AlignedBuffer::new(prepared.len());
            copy.as_mut_slice().copy_from_slice(prepared);
            set.prepared = Some(copy);
        }
    }
}

/// A second mapping of an operand, by which it is changed between calls. Its pages are there from
/// the beginning, so that no timed call waits for one.
fn writable(map: &OperandMap, file: BorrowedFd<'_>) -> Result<Mapping, String> {
    let mapping =
        Mapping::of_file_aligned(file, map.file_bytes, Access::ReadWrite, map.align_bytes)
            .map_err(|error| format!("mapping operand `{}` to change it: {error}", map.name))?;
    mapping.populate();
    Ok(mapping)
}

/// Adds an operand's tensor to each set; gives the address of the first.
fn add(
    sets: &mut [Set],
    operand: &Operand,
    map: &OperandMap,
    mapping: &Mapping,
    writable: Option<&Mapping>,
) -> Result<*mut u8, String> {
    let layout = Layout { shape: map.shape.clone(), row_stride: map.row_stride };
    let bytes = layout.span().saturating_mul(map.dtype.size());
    let end = (sets.len() - 1)
        .saturating_mul(map.set_bytes)
        .saturating_add(bytes)
        .saturating_add(map.offset_bytes);
    if end > mapping.len() || (sets.len() > 1 && map.set_bytes < bytes) {
        return Err(format!("operand `{}` ends at {end}, past its file or set", map.name));
    }
    let first = mapping.base().wrapping_add(map.offset_bytes);
    let (rows, cols) = (layout.rows(), layout.cols());
    for (number, set) in sets.iter_mut().enumerate() {
        let base = first.wrapping_add(number * map.set_bytes);
        let own = match (writable, map.writable) {
            (Some(alias), _) => {
                alias.base().wrapping_add(map.offset_bytes + number * map.set_bytes)
            }
            (None, true) => base,
            (None, false) => std::ptr::null_mut(),
        };
        let row_stride = map.row_stride;
        set.grids.push(Grid { base: own, dtype: map.dtype, rows, cols, row_stride });
        // SAFETY: the spans of all sets lie in the mapping side by side, as just checked, and the
        // mapping is kept beside the tensors; it is writable if the tensor is. The supervisor
        // writes only in its own turn, when no call runs; this process changes inputs by another
        // mapping, and only between calls.
        let tensor = unsafe { Tensor::from_raw(base, map.dtype, layout.clone(), map.writable) };
        let group = if map.writable { &mut set.outputs } else { &mut set.inputs };
        group.push(tensor);
        set.spans.push(Span { start: base, bytes, is_weight: operand.role == Role::Weight });
    }
    Ok(first)
}

/// Whether the supervisor's operand is the signature's.
fn check(operand: &Operand, map: &OperandMap, sets: usize) -> Result<(), String> {
    let cols = map.shape.last().copied().unwrap_or(1);
    let fits = operand.name == map.name
        && operand.dtype == map.dtype
        && operand.shape == map.shape
        && operand.role.is_written() == map.writable
        && map.row_stride >= cols
        && map.sets.max(1) == sets;
    if fits {
        return Ok(());
    }
    Err(format!(
        "operand `{}` is {}{:?} with row stride {}, the signature has `{}` {}{:?}",
        map.name, map.dtype, map.shape, map.row_stride, operand.name, operand.dtype, operand.shape
    ))
}
