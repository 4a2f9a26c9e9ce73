//! Operands as the kernel sees them: inputs that cannot be written, guards around all.

use proofmark_contract::{Operand, Role, Signature};
use proofmark_schema::Cache;
use proofmark_schema::wire::{HandOver, OperandMap};
use proofmark_tensor::{Access, AlignedBuffer, Layout, Mapping, Tensor};
use rustix::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

/// Mapped operands: the sets that calls walk over, one unless the caches are to rotate.
pub(crate) struct Operands {
    /// What the caches are to hold before every timed call.
    pub(crate) cache: Cache,
    pub(crate) sets: Vec<Set>,
    /// The set that the next call takes.
    pub(crate) next: usize,
    /// What the tensors lie in, and whether kernels write there.
    pub(crate) mappings: Vec<(Mapping, bool)>,
}

/// Operands that cannot be touched while this lives.
pub(crate) struct Seal<'a> {
    mappings: &'a [(Mapping, bool)],
    with_outputs: bool,
}

impl<'a> Seal<'a> {
    /// Seals every mapping that kernels only read: results that lie elsewhere may still be copied
    /// into the outputs.
    pub(crate) fn of_inputs(mappings: &'a [(Mapping, bool)]) -> Seal<'a> {
        Seal::new(mappings, false)
    }

    /// Seals every mapping: nothing is to be done any more.
    pub(crate) fn of_all(mappings: &'a [(Mapping, bool)]) -> Seal<'a> {
        Seal::new(mappings, true)
    }

    fn new(mappings: &'a [(Mapping, bool)], with_outputs: bool) -> Seal<'a> {
        let seal = Seal { mappings, with_outputs };
        seal.set(true);
        seal
    }

    fn set(&self, is_sealed: bool) {
        let is_meant = |of: &&(Mapping, bool)| self.with_outputs || !of.1;
        for (mapping, _) in self.mappings.iter().filter(is_meant) {
            // SAFETY: between batches only a contender that hides its work touches operands, and
            // that is to fault. Where the kernel refuses, nothing is caught and nothing is broken.
            let _ = unsafe { mapping.seal(is_sealed) };
        }
    }
}

impl Drop for Seal<'_> {
    fn drop(&mut self) {
        self.set(false);
    }
}

/// The operands of one call, in its two groups.
#[derive(Default)]
pub(crate) struct Set {
    pub(crate) inputs: Vec<Tensor>,
    pub(crate) outputs: Vec<Tensor>,
    /// Its own copy of the packed weights; none in the first set, which uses the contender's.
    pub(crate) prepared: Option<AlignedBuffer>,
    pub(crate) spans: Vec<Span>,
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
            let first = add(&mut sets, operand, map, &mapping)?;
            page.operand_base[i].store(first as u64, Ordering::Relaxed);
            mappings.push((mapping, map.writable));
        }
        Ok(Operands { cache, sets, next: 0, mappings })
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

/// Adds an operand's tensor to each set; gives the address of the first.
fn add(
    sets: &mut [Set],
    operand: &Operand,
    map: &OperandMap,
    mapping: &Mapping,
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
    for (number, set) in sets.iter_mut().enumerate() {
        let base = first.wrapping_add(number * map.set_bytes);
        // SAFETY: the spans of all sets lie in the mapping side by side, as just checked, and the
        // mapping is kept beside the tensors; it is writable if the tensor is, and the supervisor
        // writes only in its own turn, when no kernel runs.
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
