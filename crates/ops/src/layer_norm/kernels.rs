//! The kernels of layer normalisation: mean, mean square of the differences from it, result.
//!
//! Three passes over each row, which is in L1 after the first (up to 8192 f32). Rows far from zero
//! lose no digits, as they would if the variance were computed from the mean square. Traffic x and
//! y once and the weights from cache: 8 bytes an f32 element, 8 flops; memory is the limit.
//! Registers: 4 accumulators in the passes that sum.

use super::definition::{LayerNorm, Problem};
use crate::blocks::row::{self, Part, RowOp, vectors};
use crate::blocks::stored::Stored;
use proofmark_contract::KernelError;
use proofmark_simd::Simd;

/// Terms of the scalar kernel's shorter sums, because one long chain of additions would lose
/// digits.
const BLOCK: usize = 64;

impl RowOp for LayerNorm {
    const SCALAR: &'static str = "three passes over each row, one element at a time";
    const SIMD: &'static str = "three passes over each row in vectors";
    const GRAIN: usize = 8192;

    fn scalar<T: Stored>(mut part: Part<'_>) -> Result<(), KernelError> {
        let (x, mut y) = (part.input_for::<T>(0, 0)?, part.output::<T>(0)?);
        let (gamma, beta) = (part.vector::<T>(1)?, part.vector::<T>(2)?);
        let eps = Problem::of(part.case).eps as f32;
        let length = x.cols() as f32;
        for i in 0..x.rows() {
            let (x, y) = (x.row(i), y.row_mut(i));
            let sum = |x: &[T]| x.iter().map(|x| x.widen()).sum::<f32>();
            let mean = x.chunks(BLOCK).map(sum).sum::<f32>() / length;
            let squares = |x: &[T]| x.iter().map(|x| (x.widen() - mean).powi(2)).sum::<f32>();
            let variance = x.chunks(BLOCK).map(squares).sum::<f32>() / length;
            let r = 1.0 / (variance + eps).sqrt();
            for (j, (x, y)) in x.iter().zip(y).enumerate() {
                let normal = (x.widen() - mean) * r;
                *y = T::narrow(normal * gamma[j].widen() + beta[j].widen());
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn simd<S: Simd, T: Stored>(simd: S, mut part: Part<'_>) -> Result<(), KernelError> {
        let (x, mut y) = (part.input_for::<T>(0, 0)?, part.output::<T>(0)?);
        let (gamma, beta) = (part.vector::<T>(1)?, part.vector::<T>(2)?);
        let eps = Problem::of(part.case).eps as f32;
        let length = x.cols() as f32;
        for i in 0..x.rows() {
            let (x, y) = (x.row(i), y.row_mut(i));
            let mean = row::sum(simd, x) / length;
            let variance = row::squared_deviations(simd, x, mean) / length;
            let (r, mean) = (simd.splat(1.0 / (variance + eps).sqrt()), simd.splat(mean));
            vectors!(S, simd, [x: T in x, g: T in gamma, b: T in beta] => y: T in y, {
                simd.fma(simd.mul(simd.sub(x, mean), r), g, b)
            });
        }
        Ok(())
    }
}
