//! One call of a kernel, with everything it may touch.

use crate::Unsupported;
use proofmark_tensor::{Pool, Tensor, ViewError};
use proofmark_terms::{Case, Isa};
use std::fmt;

/// Everything one call of a kernel may touch. Nothing else is allowed to matter.
///
/// `inputs` and `outputs` are the read-only and the written operands in the signature's order; an
/// in-place operand stands among the outputs. The fields are apart so that a kernel borrows them
/// side by side: `call.inputs[0].rows::<f32>()?` and `call.outputs[0].rows_mut::<f32>()?`.
#[derive(Debug)]
pub struct Call<'a> {
    /// The case, for axes and attributes.
    pub case: &'a Case,
    /// The path to take; the processor has it.
    pub isa: Isa,
    /// Threads to use, at least 1.
    pub threads: usize,
    /// Where the threads are.
    pub pool: &'a Pool,
    /// Operands that are only read.
    pub inputs: &'a [Tensor],
    /// Operands that are written.
    pub outputs: &'a mut [Tensor],
    /// Scratch memory as asked for, full of rubbish.
    pub workspace: &'a mut [u8],
    /// Packed weights as `prepare` left them; empty if the kernel packs none.
    pub prepared: &'a [u8],
}

/// Why a call could not be made.
#[derive(Debug)]
pub enum KernelError {
    /// An operand is not what the signature says.
    Operand(ViewError),
    /// The workspace or the packed weights are too small.
    TooSmall {
        /// Which memory.
        what: &'static str,
        /// Its bytes.
        got: usize,
        /// Bytes needed.
        need: usize,
    },
    /// The case cannot be computed this way.
    Refused(String),
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelError::Operand(error) => error.fmt(f),
            KernelError::TooSmall { what, got, need } => {
                write!(f, "{what} has {got} bytes, {need} are needed")
            }
            KernelError::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for KernelError {}

impl From<ViewError> for KernelError {
    fn from(error: ViewError) -> KernelError {
        KernelError::Operand(error)
    }
}

impl From<Unsupported> for KernelError {
    fn from(reason: Unsupported) -> KernelError {
        KernelError::Refused(reason.0)
    }
}
