//! A product from entries in no order: each adds to its row as it comes.
//!
//! Idea: a thread that has a range of rows passes over all entries and takes its own, so that sums
//! are added in the same order on any thread. 12 bytes an entry for each thread.

use super::no_matrix;
use proofmark_contract::KernelError;
use proofmark_simd::{Body, Simd};
use proofmark_tensor::{Rows, RowsMut};

/// Rows of a product: `y` are those from `first` on; a vector is a matrix of one column.
#[derive(Debug)]
pub(super) struct Scattered<'a> {
    pub(super) rows: &'a [i32],
    pub(super) columns: &'a [i32],
    pub(super) values: &'a [f32],
    pub(super) x: Rows<'a, f32>,
    pub(super) y: RowsMut<'a, f32>,
    pub(super) first: usize,
    /// Rows of the whole matrix.
    pub(super) all: usize,
}

impl Body for Scattered<'_> {
    type Output = Result<(), KernelError>;

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) -> Result<(), KernelError> {
        (0..self.y.rows()).for_each(|i| self.y.row_mut(i).fill(0.0));
        let entries = self.rows.iter().zip(self.columns).zip(self.values);
        for ((&row, &column), &value) in entries {
            let (row, column) = (row as usize, column as usize);
            if row >= self.all || column >= self.x.rows() {
                return Err(no_matrix());
            }
            let own = row.wrapping_sub(self.first);
            if own >= self.y.rows() {
                continue;
            }
            let (x, y) = (self.x.row(column), self.y.row_mut(own));
            if let ([x], [y]) = (x, &mut *y) {
                *y += value * x;
                continue;
            }
            let value = simd.splat(value);
            for (x, y) in x.chunks(S::LANES).zip(y.chunks_mut(S::LANES)) {
                let sum = simd.load_partial(y, 0.0);
                simd.store_partial(simd.fma(value, simd.load_partial(x, 0.0), sum), y);
            }
        }
        Ok(())
    }
}
