//! Rows against rows in vectors, with weights decoded where they are used, or a panel at a time.
//!
//! Ideas: `folded` decodes and scales a vector of weights as it is loaded (about 13 operations),
//! which up to 6 rows share: nothing but codes is read, the better choice for few rows.
//! `dequantised` writes 32 rows of weights as f32 to scratch memory once, and multiplies all rows
//! by them at two loads for three products: the better choice for many. Registers: AVX-512 6 × 4
//! sums, or 3 × 4.

use super::{Job, PANEL};
use crate::blocks::scaled::{ScaledProducts, Scales};
use crate::blocks::stored::Stored;
use crate::matmul_fp8_block::definition::Problem;
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::{F8E4m3, Rows, RowsMut};
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
    mut output: RowsMut<'_, C>,
    scratch: &mut [f32],
) {
    let k = job.problem.k;
    let first = columns.start;
    for start in columns.clone().step_by(PANEL) {
        let own = start..columns.end.min(start + PANEL);
        let panel = &mut scratch[..own.len() * k];
        let scales = right_scales(job, own.start);
        let (right, block) = (job.right.range(own.clone()), job.problem.block);
        dispatch(job.isa, Dequantise { right, scales, block, to: &mut *panel });
        let output = output.columns(start - first..start - first + own.len());
        dispatch(
            job.isa,
            ScaledProducts::<f32, f32, C, false> {
                left: job.left,
                left_scales: None,
                right: Rows::from_slice(panel, own.len(), k),
                right_scales: Scales { data: &[1.0], across: 1, height: PANEL, first: 0 },
                block: k.max(1),
                output,
            },
        );
    }
}

/// Weights as f32, row by row.
struct Dequantise<'a> {
    right: Rows<'a, F8E4m3>,
    scales: Scales<'a>,
    block: usize,
    to: &'a mut [f32],
}

impl Body for Dequantise<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let cols = self.right.cols();
        for row in 0..self.right.rows() {
            let to = &mut self.to[row * cols..][..cols];
            for (block, start) in (0..cols).step_by(self.block).enumerate() {
                let terms = start..cols.min(start + self.block);
                let scale = simd.splat(self.scales.of(row, block));
                let (mut from, mut to) = (&self.right.row(row)[terms.clone()], &mut to[terms]);
                while from.len() >= S::LANES {
                    simd.store(simd.mul(F8E4m3::load(simd, from), scale), to);
                    (from, to) = (&from[S::LANES..], &mut to[S::LANES..]);
                }
                let tail = F8E4m3::load_partial(simd, from, 0.0);
                simd.store_partial(simd.mul(tail, scale), to);
            }
        }
    }
}
