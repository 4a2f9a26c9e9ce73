//! Why a call was not made.

use proofmark_contract::{BadCase, KernelError};
use proofmark_terms::DType;
use std::fmt;

/// Why a call was not made. Outputs keep what they held, unless the kernel itself refused.
#[derive(Debug)]
pub enum Error {
    /// Sizes and options do not fit the op.
    Case(BadCase),
    /// An operand has another element type.
    DType {
        /// The operand.
        name: &'static str,
        /// What was passed.
        got: DType,
        /// What is needed.
        need: DType,
    },
    /// A slice has another length.
    Length {
        /// The operand.
        name: &'static str,
        /// Its elements.
        got: usize,
        /// Elements that it needs.
        need: usize,
    },
    /// A matrix has other sizes.
    Shape {
        /// The operand.
        name: &'static str,
        /// Its rows and columns.
        got: (usize, usize),
        /// Those that it needs.
        need: (usize, usize),
    },
    /// The rows of a matrix do not lie within its slice, overlap, or must lie densely.
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
    Transposed {
        /// The operand.
        name: &'static str,
    },
    /// The number of operands differs.
    Count {
        /// How many were passed.
        got: usize,
        /// How many are needed.
        need: usize,
    },
    /// No kernel computes it.
    NoKernel(&'static str),
    /// The kernel refused.
    Kernel(KernelError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Case(error) => error.fmt(f),
            Error::DType { name, got, need } => {
                write!(f, "operand `{name}` holds {got}, {need} is needed")
            }
            Error::Length { name, got, need } => {
                write!(f, "operand `{name}` has {got} elements, {need} are needed")
            }
            Error::Shape { name, got, need } => write!(
                f,
                "operand `{name}` is {} x {}, {} x {} is needed",
                got.0, got.1, need.0, need.1
            ),
            Error::Stride { name, cols, stride, why } => write!(
                f,
                "operand `{name}`: rows of {cols} elements cannot lie {stride} apart {why}"
            ),
            Error::Transposed { name } => write!(
                f,
                "operand `{name}` is a transpose: copy it into place with `transpose` first"
            ),
            Error::Count { got, need } => {
                write!(f, "{got} operands were passed, {need} are needed")
            }
            Error::NoKernel(op) => {
                write!(f, "no kernel of {op} computes these sizes and options on this processor")
            }
            Error::Kernel(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<BadCase> for Error {
    fn from(error: BadCase) -> Error {
        Error::Case(error)
    }
}

impl From<KernelError> for Error {
    fn from(error: KernelError) -> Error {
        Error::Kernel(error)
    }
}
