//! Rows against rows in vectors, with weights decoded where they are used, or a panel at a time.
//!
//! Ideas: `folded` decodes and scales a vector of weights as it is loaded (about 13 operations),
//! which up to 6 rows share: nothing but codes is read, the better choice for few rows.
//! `dequantised` decodes a panel of weights to f32 once for all rows, the better choice for some,
//! and packs it and multiplies as in the product of f32 for many (see `blocks::gemm`). Registers:
//! AVX-512 6 × 4 sums, or those of that product.

use super::Job;
use crate::blocks::gemm::{Dequantised, packs};
use crate::blocks::scaled::{ScaledProducts, Scales};
use crate::blocks::stored::Stored;
use crate::matmul_fp8_block::definition::Problem;
use proofmark_simd::dispatch;
use proofmark_tensor::{F8E4m3, RowsMut};
use std::ops::Range;

/// The scales of the right operand from column `first` on.
pub(super) fn right_scales<'a>(job: &Job<'a>, first: usize) -> Scales<'a> {
    let Problem { block, .. } = job.problem;
    Scales { data: job.right_scales, across: job.problem.across(), height: block, first }
}

/// Columns of the product, with scales folded into both operands.
pub(super) fn folded<C: Stored>(job: &Job<'_>, columns: Range<usize>, output: RowsMut<'_, C>) {
    dispatch(
        job.isa,
        ScaledProducts::<f32, F8E4m3, C, true> {
            left: job.left,
            left_scales: None,
            right_scales: right_scales(job, columns.start),
            right: job.right.range(columns),
            block: job.problem.block,
            output,
        },
    );
}

/// Columns of the product, from dequantised panels.
pub(super) fn dequantised<C: Stored>(
    job: &Job<'_>,
    columns: Range<usize>,
    output: RowsMut<'_, C>,
    scratch: &mut [f32],
) {
    let scales = right_scales(job, columns.start);
    let (left, right, block) = (job.left, job.right.range(columns), job.problem.block);
    let is_packed = packs(job.problem.m, job.problem.k);
    dispatch(job.isa, Dequantised { left, right, scales, block, is_packed, output, scratch });
}
