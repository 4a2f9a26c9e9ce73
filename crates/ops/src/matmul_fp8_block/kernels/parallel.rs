//! Columns shared out among threads, with the vector idea that suits the number of rows.
//!
//! Idea: a thread reads and decodes its own weights; activations are decoded by all threads first.
//! Terms are not split, so the bits do not depend on the number of threads.

use super::{Idea, Job, PANEL};
use crate::blocks::stored::Stored;
use proofmark_tensor::{Pool, RowsMut, split};

/// Rows from which dequantising a panel of weights pays. Raced on one thread with 1,024 columns and
/// terms: `folded` takes 1.01 of the time with 5 rows, 1.38 with 8 and 1.66 with 12.
pub(super) const MANY_ROWS: usize = 5;

/// Multiplies all columns, some on each thread: as many as `scratch` has rows.
pub(super) fn share_out<C: Stored>(
    idea: Idea,
    job: &Job<'_>,
    pool: &Pool,
    scratch: &mut RowsMut<'_, f32>,
    output: &mut RowsMut<'_, C>,
) {
    let (threads, m) = (scratch.rows(), output.rows());
    // SAFETY: the view is not used again while the handle is.
    let output = unsafe { output.share() };
    pool.with_rows(scratch.reborrow(), |index, own| {
        let columns = split(output.cols(), threads, index, PANEL);
        if columns.is_empty() || m == 0 {
            return;
        }
        // SAFETY: the columns of different indices do not meet.
        let block = unsafe { output.block_mut(0..m, columns.clone()) };
        idea.multiply(job, columns, block, own);
    });
}
