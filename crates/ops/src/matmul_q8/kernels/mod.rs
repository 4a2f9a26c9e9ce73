//! The kernels of products with 8-bit weights.

mod parallel;
mod scalar;
mod simd;

pub(super) use parallel::PARALLEL;
pub(super) use scalar::SCALAR;
pub(super) use simd::SIMD;

use super::definition::Problem;
use crate::blocks::gemm::{Dequantised, dequantised_scratch, packs};
use crate::blocks::scaled::{ScaledProducts, Scales};
use proofmark_contract::{Call, KernelError};
use proofmark_simd::dispatch;
use proofmark_tensor::{Rows, RowsMut};
use proofmark_terms::{Case, DType, Isa};
use std::ops::Range;

/// Rows from which a panel of weights is decoded once for all rows, instead of once for each 6.
const SOME_ROWS: usize = 8;

/// Floats of scratch memory that a thread needs; whole cache lines.
fn scratch(case: &Case, isa: Isa) -> usize {
    let Problem { m, n, k, .. } = Problem::of(case);
    if m < SOME_ROWS {
        return 0;
    }
    dequantised_scratch(isa, [m, n, k], DType::F32).next_multiple_of(16)
}

/// What a call reads.
#[derive(Clone, Copy)]
struct Inputs<'a> {
    problem: Problem,
    x: Rows<'a, f32>,
    codes: Rows<'a, i8>,
    scales: &'a [f32],
}

impl<'a> Inputs<'a> {
    fn of(call: &Call<'a>) -> Result<Inputs<'a>, KernelError> {
        let problem = Problem::of(call.case);
        let Problem { m, n, k, group } = problem;
        let inputs = call.inputs;
        let (x, codes) = (inputs[0].rows::<f32>()?, inputs[1].rows::<i8>()?);
        let scales = inputs[2].slice::<f32>()?;
        let fits = (x.rows(), x.cols(), codes.rows(), codes.cols()) == (m, k, n, k);
        if fits && scales.len() == n * k.div_ceil(group) {
            return Ok(Inputs { problem, x, codes, scales });
        }
        Err(KernelError::Refused("operands do not have the shapes of the case".to_owned()))
    }

    /// Computes some rows and columns of the output, which are all that `output` has.
    fn multiply(
        &self,
        isa: Isa,
        rows: Range<usize>,
        columns: Range<usize>,
        output: RowsMut<'_, f32>,
        scratch: &mut [f32],
    ) {
        if rows.is_empty() || columns.is_empty() {
            return;
        }
        let Problem { m, k, group, .. } = self.problem;
        let (across, first) = (k.div_ceil(group), columns.start);
        let right_scales = Scales { data: self.scales, across, height: 1, first };
        let (left, right) = (self.x.range(rows), self.codes.range(columns));
        // A matter of the case alone, so that every number of threads gives the same bits.
        if m >= SOME_ROWS {
            let (scales, block, is_packed) = (right_scales, group, packs(m, k));
            let product = Dequantised { left, right, scales, block, is_packed, output, scratch };
            return dispatch(isa, product);
        }
        let left_scales = None;
        dispatch(
            isa,
            ScaledProducts::<f32, i8, f32, true> {
                left,
                left_scales,
                right,
                right_scales,
                block: group,
                output,
            },
        );
    }
}
