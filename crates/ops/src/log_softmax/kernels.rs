//! The kernels of the logarithm of softmax: maximum; sum of exponentials; two differences.
//!
//! 1 exponential and 5 flops an element, and one logarithm of the standard library a row (within
//! 1 ulp). No exponential is stored: x is read three times, all but the first from cache.

use super::definition::LogSoftmax;
use crate::blocks::row::{Part, RowOp, max_and_sum, max_and_sum_scalar, vectors};
use crate::blocks::stored::Stored;
use proofmark_contract::KernelError;
use proofmark_simd::Simd;

impl RowOp for LogSoftmax {
    const SCALAR: &'static str = "three passes over each row, one element at a time";
    const SIMD: &'static str = "three passes over each row in vectors";
    const GRAIN: usize = 2048;

    fn scalar<T: Stored>(mut part: Part<'_>) -> Result<(), KernelError> {
        let (x, mut y) = (part.input_for::<T>(0, 0)?, part.output::<T>(0)?);
        for i in 0..x.rows() {
            let (max, sum) = max_and_sum_scalar(x.row(i));
            let logarithm = sum.ln();
            for (x, y) in x.row(i).iter().zip(y.row_mut(i)) {
                *y = T::narrow(x.widen() - max - logarithm);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn simd<S: Simd, T: Stored>(simd: S, mut part: Part<'_>) -> Result<(), KernelError> {
        let (x, mut y) = (part.input_for::<T>(0, 0)?, part.output::<T>(0)?);
        for i in 0..x.rows() {
            let (x, y) = (x.row(i), y.row_mut(i));
            let (max, sum) = max_and_sum(simd, x, &mut []);
            let (max, logarithm) = (simd.splat(max), simd.splat(sum.ln()));
            vectors!(S, simd, [x: T in x] => y: T in y, simd.sub(simd.sub(x, max), logarithm));
        }
        Ok(())
    }
}
