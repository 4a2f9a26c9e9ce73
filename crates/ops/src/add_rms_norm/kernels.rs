//! The kernels of the normalised sum: each row is summed, then normalised (see `Rms`).
//!
//! The sum is written rounded and read back from L1, which is the definition.
//! Traffic: two rows read, two written; memory is the limit.

use super::definition::AddRmsNorm;
use crate::blocks::row::{Part, RowOp, vectors};
use crate::blocks::stored::Stored;
use crate::rms_norm::definition::Problem;
use proofmark_contract::KernelError;
use proofmark_simd::Simd;

impl RowOp for AddRmsNorm {
    const SCALAR: &'static str = "three passes over each row, one element at a time";
    const SIMD: &'static str = "three passes over each row in vectors";
    const GRAIN: usize = 8192;

    fn scalar<T: Stored>(mut part: Part<'_>) -> Result<(), KernelError> {
        let (x, residual) = (part.input_for::<T>(0, 0)?, part.input_for::<T>(1, 0)?);
        let (w, mut sum, mut y) = (part.vector(2)?, part.output::<T>(0)?, part.output(1)?);
        let rms = Problem::of(part.case).rms();
        for i in 0..x.rows() {
            let sum = sum.row_mut(i);
            for ((x, residual), sum) in x.row(i).iter().zip(residual.row(i)).zip(&mut *sum) {
                *sum = T::narrow(x.widen() + residual.widen());
            }
            rms.scalar(sum, w, y.row_mut(i));
        }
        Ok(())
    }

    #[inline(always)]
    fn simd<S: Simd, T: Stored>(simd: S, mut part: Part<'_>) -> Result<(), KernelError> {
        let (x, residual) = (part.input_for::<T>(0, 0)?, part.input_for::<T>(1, 0)?);
        let (w, mut sum, mut y) = (part.vector(2)?, part.output::<T>(0)?, part.output(1)?);
        let rms = Problem::of(part.case).rms();
        for i in 0..x.rows() {
            let (x, residual, sum) = (x.row(i), residual.row(i), sum.row_mut(i));
            vectors!(S, simd, [x: T in x, r: T in residual] => sum: T in sum, simd.add(x, r));
            rms.simd(simd, sum, w, y.row_mut(i));
        }
        Ok(())
    }
}
