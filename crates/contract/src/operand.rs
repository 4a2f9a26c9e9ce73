//! Operands and signatures: what a case reads and writes.

use proofmark_tensor::{Fill, Layout};
use proofmark_terms::DType;

/// What a call does with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Read anew by each call.
    Input,
    /// Read, and the same for many calls: a kernel may pack it outside the timed part.
    Weight,
    /// Random-number state that is read: key and counter words. Its values are any bits.
    Random,
    /// Written; what it held before must not matter.
    Output,
    /// Read and written: an in-place operand, or state such as a KV cache.
    InOut,
}

impl Role {
    /// Whether calls write it.
    pub fn is_written(self) -> bool {
        matches!(self, Role::Output | Role::InOut)
    }

    /// Whether its values before the call matter.
    pub fn is_read(self) -> bool {
        self != Role::Output
    }
}

/// One operand of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// Name in messages and docs.
    pub name: &'static str,
    /// What a call does with it.
    pub role: Role,
    /// Element type.
    pub dtype: DType,
    /// Sizes along each axis; the last is contiguous.
    pub shape: Vec<usize>,
    /// Kernels must accept any row stride of at least the row's length.
    pub free_row_stride: bool,
    /// The only fill whose values are valid (indices, random state); `None`: any reals.
    pub only: Option<Fill>,
}

impl Operand {
    /// An operand that takes any reals and any row stride.
    pub fn new(name: &'static str, role: Role, dtype: DType, shape: &[usize]) -> Operand {
        Operand { name, role, dtype, shape: shape.to_vec(), free_row_stride: true, only: None }
    }

    /// The same, but its rows always lie densely.
    #[must_use]
    pub fn dense(mut self) -> Operand {
        self.free_row_stride = false;
        self
    }

    /// The same, but only this fill gives valid values.
    #[must_use]
    pub fn only(mut self, fill: Fill) -> Operand {
        self.only = Some(fill);
        self
    }

    /// Its layout without padding.
    pub fn layout(&self) -> Layout {
        Layout::dense(self.shape.as_slice())
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of its elements.
    pub fn bytes(&self) -> u64 {
        (self.len() * self.dtype.size()) as u64
    }
}

/// The operands of a case: everything read, in order, then everything written.
///
/// [`crate::Call`] hands them out in these two groups, so that a kernel holds shared views of the
/// first and exclusive views of the second at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    operands: Vec<Operand>,
    reads: usize,
}

impl Signature {
    /// Sorts the operands into read-only ones and written ones, keeping their order.
    pub fn new(operands: Vec<Operand>) -> Signature {
        let (mut reads, writes): (Vec<_>, Vec<_>) =
            operands.into_iter().partition(|operand| !operand.role.is_written());
        let count = reads.len();
        reads.extend(writes);
        Signature { operands: reads, reads: count }
    }

    /// All operands: the read-only ones first.
    pub fn operands(&self) -> &[Operand] {
        &self.operands
    }

    /// The read-only operands: `Call::inputs` in the same order.
    pub fn inputs(&self) -> &[Operand] {
        &self.operands[..self.reads]
    }

    /// The written operands: `Call::outputs` in the same order.
    pub fn outputs(&self) -> &[Operand] {
        &self.operands[self.reads..]
    }

    /// Bytes of all operands.
    pub fn bytes(&self) -> u64 {
        self.operands.iter().map(Operand::bytes).sum()
    }
}
