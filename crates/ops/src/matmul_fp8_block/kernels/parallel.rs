//! Columns shared out among threads, with the vector idea that suits the number of rows.
//!
//! Idea: a thread reads and decodes its own weights; activations are decoded by all threads first.
//! Terms are not split, so the bits do not depend on the number of threads.

use super::{Idea, Job, PANEL};
use crate::blocks::stored::Stored;
use proofmark_tensor::{Pool, RowsMut, split};

/// Rows from which dequantising a panel of weights pays: each weight is then decoded once instead
/// of once for every 6 rows.
pub(super) const MANY_ROWS: usize = 12;

/// Multiplies all columns, some on each thread: as many as `scratch` has rows.
pub(super) fn share_out<C: Stored>(
    idea: Idea,
    job: &Job<'_>,
    pool: &Pool,
    scratch: &mut RowsMut<'_, f32>,
    output: &mut RowsMut<'_, C>,
) {
    let (threads, m) = (scratch.rows(), output.rows());
    // SAFETY: neither view is used again while the handles are.
    let (scratch, output) = unsafe { (scratch.share(), output.share()) };
    pool.run(threads, &|index| {
        let columns = split(output.cols(), threads, index, PANEL);
        if columns.is_empty() || m == 0 {
            return;
        }
        // SAFETY: each index takes the one row of its number, and columns that do not meet.
        let (mut own, block) = unsafe {
            (scratch.range_mut(index..index + 1), output.block_mut(0..m, columns.clone()))
        };
        idea.multiply(job, columns, block, own.row_mut(0));
    });
}
