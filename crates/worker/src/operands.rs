//! Operands as the kernel sees them: inputs that cannot be written, guards around all.

use proofmark_contract::{Operand, Signature};
use proofmark_schema::wire::{HandOver, OperandMap};
use proofmark_tensor::{Access, Layout, Mapping, Tensor};
use rustix::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

/// Mapped operands, in the two groups of a call.
pub(crate) struct Operands {
    pub(crate) inputs: Vec<Tensor>,
    pub(crate) outputs: Vec<Tensor>,
    /// What the tensors lie in.
    _mappings: Vec<Mapping>,
}

impl Operands {
    /// Maps one file for each operand of the signature and tells the supervisor where.
    pub(crate) fn map(
        page: &HandOver,
        signature: &Signature,
        maps: &[OperandMap],
        files: &[OwnedFd],
    ) -> Result<Operands, String> {
        let expected = signature.operands();
        if maps.len() != expected.len() || files.len() != expected.len() {
            let (got, files) = (maps.len(), files.len());
            return Err(format!("{got} operands and {files} files for {}", expected.len()));
        }
        let (mut inputs, mut outputs, mut mappings) = (Vec::new(), Vec::new(), Vec::new());
        for (i, (operand, map)) in expected.iter().zip(maps).enumerate() {
            check(operand, map)?;
            let access = if map.writable { Access::ReadWrite } else { Access::ReadOnly };
            let mapping = Mapping::of_file(files[i].as_fd(), map.file_bytes, access)
                .map_err(|error| format!("mapping operand `{}`: {error}", map.name))?;
            let layout = Layout { shape: map.shape.clone(), row_stride: map.row_stride };
            let end =
                (layout.span().saturating_mul(map.dtype.size())).saturating_add(map.offset_bytes);
            if end > mapping.len() {
                return Err(format!("operand `{}` ends at {end}, past its file", map.name));
            }
            let base = mapping.base().wrapping_add(map.offset_bytes);
            page.operand_base[i].store(base as u64, Ordering::Relaxed);
            // SAFETY: the span lies in the mapping, as just checked, which is kept beside the
            // tensors; it is writable if the tensor is, and the supervisor writes only in its
            // own turn, when no kernel runs.
            let tensor = unsafe { Tensor::from_raw(base, map.dtype, layout, map.writable) };
            if map.writable {
                outputs.push(tensor);
            } else {
                inputs.push(tensor);
            }
            mappings.push(mapping);
        }
        Ok(Operands { inputs, outputs, _mappings: mappings })
    }
}

/// Whether the supervisor's operand is the signature's.
fn check(operand: &Operand, map: &OperandMap) -> Result<(), String> {
    let cols = map.shape.last().copied().unwrap_or(1);
    let fits = operand.name == map.name
        && operand.dtype == map.dtype
        && operand.shape == map.shape
        && operand.role.is_written() == map.writable
        && map.row_stride >= cols;
    if fits {
        return Ok(());
    }
    Err(format!(
        "operand `{}` is {}{:?} with row stride {}, the signature has `{}` {}{:?}",
        map.name, map.dtype, map.shape, map.row_stride, operand.name, operand.dtype, operand.shape
    ))
}
