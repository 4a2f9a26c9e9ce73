//! Where sums of products of bytes go: as they are, or scaled by row and by column.

use proofmark_tensor::RowsMut;

/// The output of a product, or the block of it that falls to one thread.
pub(crate) enum Sums<'a> {
    /// The sums themselves.
    Raw(RowsMut<'a, i32>),
    /// `sum · left[row] · right[column]` in f32.
    Scaled {
        /// The output.
        output: RowsMut<'a, f32>,
        /// A scale for each of its rows.
        left: &'a [f32],
        /// A scale for each of its columns.
        right: &'a [f32],
    },
}

impl Sums<'_> {
    /// Columns of the output.
    pub(crate) fn cols(&self) -> usize {
        match self {
            Sums::Raw(output) => output.cols(),
            Sums::Scaled { output, .. } => output.cols(),
        }
    }

    /// Writes neighbours of a row, from column `first` on.
    #[inline(always)]
    pub(crate) fn put(&mut self, row: usize, first: usize, sums: &[i32]) {
        match self {
            Sums::Raw(output) => {
                output.row_mut(row)[first..first + sums.len()].copy_from_slice(sums);
            }
            Sums::Scaled { output, left, right } => {
                let scale = left[row];
                let to = &mut output.row_mut(row)[first..first + sums.len()];
                let right = &right[first..first + sums.len()];
                for ((to, &sum), &right) in to.iter_mut().zip(sums).zip(right) {
                    *to = sum as f32 * scale * right;
                }
            }
        }
    }
}
