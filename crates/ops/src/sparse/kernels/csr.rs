//! Rows of a product, an entry after the other, from row pointers.
//!
//! Idea: with a vector, rows of at least a vector of entries gather what they need of x; the rest
//! and shorter rows go one by one. With a matrix, lanes are its columns, and sums of up to four
//! vectors stay in registers while the row's entries pass. 8 bytes an entry; x from cache.

use super::{no_matrix, of_row};
use proofmark_contract::KernelError;
use proofmark_simd::{Body, Simd};
use proofmark_tensor::{Rows, RowsMut};

/// The matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Csr<'a> {
    /// Where rows begin.
    pub(super) pointers: &'a [i32],
    /// The column of each entry.
    pub(super) columns: &'a [i32],
    /// Entries.
    pub(super) values: &'a [f32],
}

impl<'a> Csr<'a> {
    /// Columns and values of a row.
    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> Result<(&'a [i32], &'a [f32]), KernelError> {
        let range = of_row(self.pointers, row);
        let both = self.columns.get(range.clone()).zip(self.values.get(range));
        both.ok_or_else(no_matrix)
    }

    /// Where to cut the rows so that each of `parts` has about as many entries. Cuts ascend, even
    /// if the pointers do not.
    pub(super) fn cut(&self, parts: usize, index: usize) -> usize {
        let rows = self.pointers.len() - 1;
        if index >= parts {
            return rows;
        }
        let due = |index: usize| (self.values.len() as u64 * index as u64 / parts as u64) as u32;
        let cut = |index| self.pointers.partition_point(|&at| at.cast_unsigned() < due(index));
        (0..=index).map(cut).max().unwrap_or(0).min(rows)
    }
}

/// Rows of a product with a vector: `y` are those from `first` on.
#[derive(Debug)]
pub(super) struct WithVector<'a> {
    pub(super) matrix: Csr<'a>,
    pub(super) x: &'a [f32],
    pub(super) y: &'a mut [f32],
    pub(super) first: usize,
}

impl Body for WithVector<'_> {
    type Output = Result<(), KernelError>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Result<(), KernelError> {
        for (i, y) in self.y.iter_mut().enumerate() {
            let (columns, values) = self.matrix.row(self.first + i)?;
            let mut sums = simd.zero();
            let whole = values.len() - values.len() % S::LANES;
            let chunks = columns[..whole].chunks_exact(S::LANES);
            for (columns, values) in chunks.zip(values.chunks_exact(S::LANES)) {
                sums = simd.fma(simd.load(values), simd.gather(self.x, columns), sums);
            }
            let rest = one_by_one(&columns[whole..], &values[whole..], self.x)?;
            *y = if whole > 0 { simd.reduce_sum(sums) + rest } else { rest };
        }
        Ok(())
    }
}

/// The sum of a few products, in two chains.
#[inline(always)]
pub(super) fn one_by_one(columns: &[i32], values: &[f32], x: &[f32]) -> Result<f32, KernelError> {
    let mut sums = [0.0f32; 2];
    for (k, (&column, &value)) in columns.iter().zip(values).enumerate() {
        sums[k % 2] += value * x.get(column as usize).ok_or_else(no_matrix)?;
    }
    Ok(sums[0] + sums[1])
}

/// Rows of a product with a matrix: `y` are those from `first` on.
#[derive(Debug)]
pub(super) struct WithMatrix<'a> {
    pub(super) matrix: Csr<'a>,
    pub(super) x: Rows<'a, f32>,
    pub(super) y: RowsMut<'a, f32>,
    pub(super) first: usize,
}

impl Body for WithMatrix<'_> {
    type Output = Result<(), KernelError>;

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) -> Result<(), KernelError> {
        let (x, width) = (self.x, self.y.cols());
        for i in 0..self.y.rows() {
            let (columns, values) = self.matrix.row(self.first + i)?;
            if columns.iter().any(|&column| column as usize >= x.rows()) {
                return Err(no_matrix());
            }
            let y = self.y.row_mut(i);
            let mut at = 0;
            while at + 4 * S::LANES <= width {
                sums::<S, 4>(simd, columns, values, x, y, at);
                at += 4 * S::LANES;
            }
            if at + 2 * S::LANES <= width {
                sums::<S, 2>(simd, columns, values, x, y, at);
                at += 2 * S::LANES;
            }
            while at < width {
                sums::<S, 1>(simd, columns, values, x, y, at);
                at += S::LANES;
            }
        }
        Ok(())
    }
}

/// `K` vectors of a row's sums, in registers while its entries pass; one may be short.
#[inline(always)]
fn sums<S: Simd, const K: usize>(
    simd: S,
    columns: &[i32],
    values: &[f32],
    x: Rows<'_, f32>,
    y: &mut [f32],
    at: usize,
) {
    let y = &mut y[at..];
    let count = y.len().min(K * S::LANES);
    let mut sums = [simd.zero(); K];
    for (&column, &value) in columns.iter().zip(values) {
        let (value, x) = (simd.splat(value), &x.row(column as usize)[at..][..count]);
        if count == K * S::LANES {
            for k in 0..K {
                sums[k] = simd.fma(value, simd.load(&x[k * S::LANES..]), sums[k]);
            }
        } else {
            sums[0] = simd.fma(value, simd.load_partial(x, 0.0), sums[0]);
        }
    }
    for (y, sum) in y[..count].chunks_mut(S::LANES).zip(sums) {
        simd.store_partial(sum, y);
    }
}
