//! Sparse matrices: products with vectors and matrices, and conversions between formats.
//!
//! ```text
//! spmv         y[i]   = Σ over the entries e of row i: values[e] · x[columns[e]]
//! spmm         Y[i,j] = Σ over the entries e of row i: values[e] · X[columns[e], j]
//! coo_to_csr   pointers[i] = entries of rows before i; entries sorted by row and column
//! csr_to_coo   rows[e] = i for pointers[i] ≤ e < pointers[i+1]; entries as they are
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `m` | rows |
//! | `n` | columns |
//! | `p` | columns of x and y (`spmm`) |
//!
//! Entries are f32, indices i32. `format=csr` has row pointers; `format=coo` has the row of each
//! entry, in no order. `pattern` says where entries are and `each` how many a row has on average:
//! `stencil` and `banded` have the same number in each row; `random` puts them anywhere, in no
//! order, some twice, some rows empty; `powerlaw` gives the first rows many; `dense_row` has one
//! whole row. Columns of a row need not ascend. `entries` counts the entries of a random pattern.
//!
//! Edges: entries of one place add up in products and are kept, in their order, by conversions. A
//! row without entries gives 0. NaN, or 0 times infinity, reaches the rows that have the entry.
//! Subnormal products count; the sign of a zero sum is free; conversions copy bit by bit. Indices
//! that make no matrix are refused, or end the call with a panic; none is ever read with.

mod convert;
mod definition;
mod kernels;
mod mutants;
mod oracle;
mod structure;
#[cfg(test)]
mod tests;

use crate::library::{self, LibraryError};
use convert::{Convert, Way};
use definition::Product;
use proofmark_contract::{Entry, Kernel};
use proofmark_schema::{AttrValue, Case, DType};
use proofmark_tensor::Pool;

static PRODUCTS: &[&dyn Kernel] = &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR];

/// The product of a sparse matrix and a vector.
pub static SPMV: Entry = Entry {
    op: &Product { name: "spmv" },
    kernels: PRODUCTS,
    mutants: mutants::PRODUCT,
    suite: include_str!("suite.toml"),
};

/// The product of a sparse matrix and a matrix of a few columns.
pub static SPMM: Entry = Entry {
    op: &Product { name: "spmm" },
    kernels: PRODUCTS,
    mutants: mutants::PRODUCT,
    suite: include_str!("suite_spmm.toml"),
};

/// From entries in no order to rows.
pub static COO_TO_CSR: Entry = Entry {
    op: &Convert { way: Way::ToCsr },
    kernels: kernels::TO_CSR,
    mutants: mutants::CONVERSION,
    suite: include_str!("suite_convert.toml"),
};

/// From rows to entries.
pub static CSR_TO_COO: Entry = Entry {
    op: &Convert { way: Way::ToCoo },
    kernels: kernels::TO_COO,
    mutants: mutants::CONVERSION,
    suite: include_str!("suite_convert.toml"),
};

/// A sparse matrix as its row pointers, columns and values.
#[derive(Clone, Copy, Debug)]
pub struct Csr<'a> {
    /// Columns of the matrix.
    pub width: usize,
    /// Where each row begins among the entries, and where the last ends.
    pub pointers: &'a [i32],
    /// The column of each entry.
    pub columns: &'a [i32],
    /// The entries.
    pub values: &'a [f32],
}

fn case(op: &str, rows: usize, cols: usize, entries: usize) -> Case {
    Case::new(op, DType::F32)
        .axis("m", rows as u64)
        .axis("n", cols as u64)
        .attr("each", AttrValue::Int(0))
        .attr("entries", AttrValue::Int(entries as i64))
}

/// The product of a sparse matrix and a vector, with up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::sparse::{Csr, spmv};
/// use proofmark_tensor::Pool;
///
/// // 2 0 3 / 0 0 0
/// let matrix = Csr { width: 3, pointers: &[0, 2, 2], columns: &[0, 2], values: &[2.0, 3.0] };
/// let mut y = [0.0f32; 2];
/// spmv(matrix, &[1.0, 10.0, 100.0], &mut y, &Pool::serial(), 1)?;
/// assert_eq!(y, [302.0, 0.0]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If lengths differ, or indices make no matrix.
///
/// # Panics
/// If a column of a long row leaves the matrix.
pub fn spmv(
    matrix: Csr<'_>,
    x: &[f32],
    y: &mut [f32],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let case = case("spmv", y.len(), matrix.width, matrix.values.len());
    let inputs = [matrix.pointers.into(), matrix.columns.into(), matrix.values.into(), x.into()];
    library::run(&SPMV, &case, &inputs, &mut [y.into()], pool, threads)
}

/// The product of a sparse matrix and a matrix of `columns` columns, row after row, with up to
/// `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::sparse::{Csr, spmm};
/// use proofmark_tensor::Pool;
///
/// let matrix = Csr { width: 2, pointers: &[0, 1, 2], columns: &[1, 0], values: &[2.0, 3.0] };
/// let mut y = [0.0f32; 4];
/// spmm(matrix, &[1.0, 2.0, 3.0, 4.0], 2, &mut y, &Pool::serial(), 1)?;
/// assert_eq!(y, [6.0, 8.0, 3.0, 6.0]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If lengths differ, or indices make no matrix.
pub fn spmm(
    matrix: Csr<'_>,
    x: &[f32],
    columns: usize,
    y: &mut [f32],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let rows = matrix.pointers.len().saturating_sub(1);
    let case = case("spmm", rows, matrix.width, matrix.values.len()).axis("p", columns as u64);
    let inputs = [matrix.pointers.into(), matrix.columns.into(), matrix.values.into(), x.into()];
    library::run(&SPMM, &case, &inputs, &mut [y.into()], pool, threads)
}
