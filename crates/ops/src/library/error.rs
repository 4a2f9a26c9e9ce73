//! Why a call was not made.

use proofmark_contract::{BadCase, KernelError};
use proofmark_schema::DType;

/// Why a call was not made. Outputs keep what they held, unless the kernel itself refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Sizes and options do not fit the op.
    #[error(transparent)]
    Case(#[from] BadCase),
    /// An operand has another element type.
    #[error("operand `{name}` holds {got}, {need} is needed")]
    DType {
        /// The operand.
        name: &'static str,
        /// What was passed.
        got: DType,
        /// What is needed.
        need: DType,
    },
    /// A slice has another length.
    #[error("operand `{name}` has {got} elements, {need} are needed")]
    Length {
        /// The operand.
        name: &'static str,
        /// Its elements.
        got: usize,
        /// Elements that it needs.
        need: usize,
    },
    /// A matrix has other sizes.
    #[error(
        "operand `{name}` is {} x {}, {} x {} is needed", got.0, got.1, need.0, need.1
    )]
    Shape {
        /// The operand.
        name: &'static str,
        /// Its rows and columns.
        got: (usize, usize),
        /// Those that it needs.
        need: (usize, usize),
    },
    /// The rows of a matrix do not lie within its slice, overlap, or must lie densely.
    #[error("operand `{name}`: rows of {cols} elements cannot lie {stride} apart {why}")]
    Stride {
        /// The operand.
        name: &'static str,
        /// Elements of a row.
        cols: usize,
        /// Elements from one row to the next.
        stride: usize,
        /// Why not.
        why: &'static str,
    },
    /// Only the right operand of a product may be a transpose.
    #[error("operand `{name}` is a transpose: copy it into place with `transpose` first")]
    Transposed {
        /// The operand.
        name: &'static str,
    },
    /// The number of operands differs.
    #[error("{got} operands were passed, {need} are needed")]
    Count {
        /// How many were passed.
        got: usize,
        /// How many are needed.
        need: usize,
    },
    /// No kernel computes it.
    #[error("no kernel of {0} computes these sizes and options on this processor")]
    NoKernel(&'static str),
    /// The kernel refused.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}
