//! The kernels of sparse matrices.

mod convert;
mod coo;
mod csr;
mod product;

pub(super) use convert::{TO_COO, TO_CSR};
pub(super) use product::{PARALLEL, SCALAR, SIMD};

use proofmark_contract::KernelError;
use std::ops::Range;

/// What a kernel says of indices that make no matrix.
pub(super) fn no_matrix() -> KernelError {
    KernelError::Refused("an index or a row pointer leaves the matrix: check it before".to_owned())
}

/// The entries of a row.
fn of_row(pointers: &[i32], row: usize) -> Range<usize> {
    // A negative one becomes large, and no slice has it.
    pointers[row] as usize..pointers[row + 1] as usize
}
