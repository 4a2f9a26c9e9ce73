//! Rows against rows in vectors, with scales applied to the partial sums of a block.
//!
//! Idea: elements stay the codes that they are, and a block of terms costs one multiplication for
//! each sum instead of one for each element; in return sums take twice the registers, so a decoded
//! weight serves only 3 rows. Registers: AVX-512 3 × 4 partial and 3 × 4 whole sums.

use super::{Job, simd};
use crate::blocks::scaled::{ScaledProducts, Scales};
use crate::blocks::stored::Stored;
use proofmark_simd::dispatch;
use proofmark_tensor::{F8E4m3, RowsMut};
use std::ops::Range;

/// Columns of the product.
pub(super) fn multiply<C: Stored>(job: &Job<'_>, columns: Range<usize>, output: RowsMut<'_, C>) {
    let across = job.problem.across();
    dispatch(
        job.isa,
        ScaledProducts::<f32, F8E4m3, C, false> {
            left: job.left,
            left_scales: Some(Scales { data: job.left_scales, across, height: 1, first: 0 }),
            right_scales: simd::right_scales(job, columns.start),
            right: job.right.range(columns),
            block: job.problem.block,
            output,
        },
    );
}
