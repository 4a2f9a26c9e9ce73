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
#[cfg(feature = "judge")]
mod judge;
#[cfg(feature = "judge")]
mod judge_convert;
mod kernels;
#[cfg(feature = "judge")]
mod mutants;
#[cfg(feature = "judge")]
mod oracle;
mod structure;
#[cfg(test)]
mod tests;

use crate::library::{Context, Error, Given, Input, Mat, MatMut, Request};
use convert::{Convert, Way};
use definition::Product;
use proofmark_contract::{Entry, Kernel};
use proofmark_terms::DType;

static PRODUCTS: &[&dyn Kernel] = &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR];

/// The product of a sparse matrix and a vector.
pub static SPMV: Entry = Entry {
    op: &Product { name: "spmv" },
    kernels: PRODUCTS,
    #[cfg(feature = "judge")]
    mutants: mutants::PRODUCT,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// The product of a sparse matrix and a matrix of a few columns.
pub static SPMM: Entry = Entry {
    op: &Product { name: "spmm" },
    kernels: PRODUCTS,
    #[cfg(feature = "judge")]
    mutants: mutants::PRODUCT,
    #[cfg(feature = "judge")]
    suite: include_str!("suite_spmm.toml"),
};

/// From entries in no order to rows.
pub static COO_TO_CSR: Entry = Entry {
    op: &Convert { way: Way::ToCsr },
    kernels: kernels::TO_CSR,
    #[cfg(feature = "judge")]
    mutants: mutants::CONVERSION,
    #[cfg(feature = "judge")]
    suite: include_str!("suite_convert.toml"),
};

/// From rows to entries.
pub static CSR_TO_COO: Entry = Entry {
    op: &Convert { way: Way::ToCoo },
    kernels: kernels::TO_COO,
    #[cfg(feature = "judge")]
    mutants: mutants::CONVERSION,
    #[cfg(feature = "judge")]
    suite: include_str!("suite_convert.toml"),
};

/// A sparse matrix by rows.
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

/// The entries of a sparse matrix in no order.
#[derive(Clone, Copy, Debug)]
pub struct Coo<'a> {
    /// Rows and columns of the matrix.
    pub sizes: (usize, usize),
    /// The row of each entry.
    pub rows: &'a [i32],
    /// The column of each entry.
    pub columns: &'a [i32],
    /// The entries.
    pub values: &'a [f32],
}

/// Where the entries of a sparse matrix are written: `places` are row pointers or rows.
#[derive(Debug)]
pub struct EntriesMut<'a> {
    /// Row pointers by rows, the row of each entry in no order.
    pub places: &'a mut [i32],
    /// The column of each entry.
    pub columns: &'a mut [i32],
    /// The entries.
    pub values: &'a mut [f32],
}

/// A sparse matrix in either form.
#[derive(Clone, Copy, Debug)]
pub enum Sparse<'a> {
    /// By rows.
    Csr(Csr<'a>),
    /// In no order.
    Coo(Coo<'a>),
}

impl<'a> From<Csr<'a>> for Sparse<'a> {
    fn from(matrix: Csr<'a>) -> Self {
        Sparse::Csr(matrix)
    }
}

impl<'a> From<Coo<'a>> for Sparse<'a> {
    fn from(matrix: Coo<'a>) -> Self {
        Sparse::Coo(matrix)
    }
}

impl<'a> Sparse<'a> {
    fn sizes(&self) -> (usize, usize) {
        match self {
            Sparse::Csr(csr) => (csr.pointers.len().saturating_sub(1), csr.width),
            Sparse::Coo(coo) => coo.sizes,
        }
    }

    fn operands(&self) -> [Input<'a>; 3] {
        match *self {
            Sparse::Csr(Csr { pointers, columns, values, .. }) => {
                [pointers.into(), columns.into(), values.into()]
            }
            Sparse::Coo(Coo { rows, columns, values, .. }) => {
                [rows.into(), columns.into(), values.into()]
            }
        }
    }

    fn entries(&self) -> usize {
        match self {
            Sparse::Csr(csr) => csr.values.len(),
            Sparse::Coo(coo) => coo.values.len(),
        }
    }

    fn format(&self) -> Given {
        Given::Word(if matches!(self, Sparse::Csr(_)) { "csr" } else { "coo" })
    }

    /// A request for an op on it, without its other axes.
    fn request(&self, entry: &'static Entry) -> Request {
        let (rows, cols) = self.sizes();
        Request::new(entry, DType::F32)
            .axis("m", rows)
            .axis("n", cols)
            .attr("each", Given::Int(0))
            .attr("entries", Given::Int(self.entries() as i64))
    }
}

/// Writes the product of a sparse matrix and the vector `x` to `y`.
///
/// ```
/// use proofmark_ops::sparse::{Csr, spmv};
/// use proofmark_ops::Context;
///
/// // 2 0 3 / 0 0 0
/// let matrix = Csr { width: 3, pointers: &[0, 2, 2], columns: &[0, 2], values: &[2.0, 3.0] };
/// let mut y = [0.0f32; 2];
/// spmv(&Context::serial(), matrix, &[1.0, 10.0, 100.0], &mut y)?;
/// assert_eq!(y, [302.0, 0.0]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the lengths differ, or indices make no matrix.
///
/// # Panics
/// If a column of a long row leaves the matrix.
pub fn spmv<'a>(
    context: &Context,
    matrix: impl Into<Sparse<'a>>,
    x: &[f32],
    y: &mut [f32],
) -> Result<(), Error> {
    let matrix = matrix.into();
    let [places, columns, values] = matrix.operands();
    let request = matrix.request(&SPMV).attr("format", matrix.format());
    request.run(context, &[places, columns, values, x.into()], &mut [y.into()])
}

/// Writes the product of a sparse matrix and the matrix `x` to `y`.
///
/// ```
/// use proofmark_ops::sparse::{Csr, spmm};
/// use proofmark_ops::{Context, Mat, MatMut};
///
/// let matrix = Csr { width: 2, pointers: &[0, 1, 2], columns: &[1, 0], values: &[2.0, 3.0] };
/// let x = [1.0, 2.0, 3.0, 4.0];
/// let mut y = [0.0f32; 4];
/// spmm(&Context::serial(), matrix, Mat::new(&x, 2, 2), MatMut::new(&mut y, 2, 2))?;
/// assert_eq!(y, [6.0, 8.0, 3.0, 6.0]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ, or indices make no matrix.
///
/// # Panics
/// If a column of a long row leaves the matrix.
pub fn spmm<'a>(
    context: &Context,
    matrix: impl Into<Sparse<'a>>,
    x: Mat<'_, f32>,
    y: MatMut<'_, f32>,
) -> Result<(), Error> {
    let matrix = matrix.into();
    let [places, columns, values] = matrix.operands();
    let request = matrix.request(&SPMM).axis("p", x.cols).attr("format", matrix.format());
    request.run(context, &[places, columns, values, x.into()], &mut [y.into()])
}

/// Writes a matrix, sorted by row and column, to `into`, whose places are row pointers.
///
/// # Errors
/// If the lengths differ, or indices make no matrix.
pub fn coo_to_csr(context: &Context, matrix: Coo<'_>, into: EntriesMut<'_>) -> Result<(), Error> {
    convert(&COO_TO_CSR, context, matrix.into(), into)
}

/// Writes the entries of a matrix to `into`, whose places are rows.
///
/// # Errors
/// If the lengths differ, or indices make no matrix.
pub fn csr_to_coo(context: &Context, matrix: Csr<'_>, into: EntriesMut<'_>) -> Result<(), Error> {
    convert(&CSR_TO_COO, context, matrix.into(), into)
}

fn convert(
    entry: &'static Entry,
    context: &Context,
    matrix: Sparse<'_>,
    into: EntriesMut<'_>,
) -> Result<(), Error> {
    let EntriesMut { places, columns, values } = into;
    let outputs = &mut [places.into(), columns.into(), values.into()];
    matrix.request(entry).run(context, &matrix.operands(), outputs)
}
