//! The kernels of softmax's gradient: the product of y and dy, then difference and product.
//!
//! Two passes over each row, the second from L1 (up to 4096 f32 of each). Traffic y,
//! dy and dx once: 12 bytes an f32 element, 4 flops; memory is the limit. Registers: 4
//! accumulators in the pass that sums.

use super::definition::SoftmaxGrad;
use crate::blocks::row::{Part, RowOp, dot, vectors};
use crate::blocks::stored::Stored;
use proofmark_contract::KernelError;
use proofmark_simd::Simd;

/// Terms of the scalar kernel's shorter sums, because one long chain of additions would lose
/// digits.
const RUN: usize = 64;

impl RowOp for SoftmaxGrad {
    const SCALAR: &'static str = "two passes over each row, one element at a time";
    const SIMD: &'static str = "two passes over each row in vectors";
    const GRAIN: usize = 8192;

    fn scalar<T: Stored>(mut part: Part<'_>) -> Result<(), KernelError> {
        let (y, dy) = (part.input_for::<T>(0, 0)?, part.input_for::<T>(1, 0)?);
        let mut dx = part.output::<T>(0)?;
        for i in 0..y.rows() {
            let (y, dy) = (y.row(i), dy.row(i));
            let of_run = |(y, dy): (&[T], &[T])| {
                y.iter().zip(dy).map(|(y, dy)| y.widen() * dy.widen()).sum::<f32>()
            };
            let sum: f32 = y.chunks(RUN).zip(dy.chunks(RUN)).map(of_run).sum();
            for ((y, dy), dx) in y.iter().zip(dy).zip(dx.row_mut(i)) {
                *dx = T::narrow(y.widen() * (dy.widen() - sum));
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn simd<S: Simd, T: Stored>(simd: S, mut part: Part<'_>) -> Result<(), KernelError> {
        let (y, dy) = (part.input_for::<T>(0, 0)?, part.input_for::<T>(1, 0)?);
        let mut dx = part.output::<T>(0)?;
        for i in 0..y.rows() {
            let (y, dy, dx) = (y.row(i), dy.row(i), dx.row_mut(i));
            let sum = simd.splat(dot(simd, y, dy));
            vectors!(S, simd, [y: T in y, dy: T in dy] => dx: T in dx, {
                simd.mul(y, simd.sub(dy, sum))
            });
        }
        Ok(())
    }
}
