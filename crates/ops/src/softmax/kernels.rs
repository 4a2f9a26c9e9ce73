//! The kernels of softmax: maximum; exponentials with their sum; product with one over the sum.
//!
//! The scalar kernel computes each exponential twice, so that nothing but the result is stored;
//! in vectors each is computed once and kept as f32 in the thread's scratch memory, from where y
//! is written once, in place or not. 1 exponential and 4 flops an element; x is read twice, the
//! second time from cache.
//!
//! Error: exponential within 2 ulp; its argument, the sum's reciprocal and the product rounded
//! once each.

use super::definition::{Problem, Softmax};
use crate::blocks::row::{Part, RowOp, max_and_sum, max_and_sum_scalar, vectors};
use crate::blocks::stored::Stored;
use proofmark_contract::KernelError;
use proofmark_simd::Simd;
use proofmark_terms::Case;

impl RowOp for Softmax {
    const SCALAR: &'static str = "three passes over each row, one element at a time";
    const SIMD: &'static str =
        "three passes over each row in vectors, each exponential computed once";
    const GRAIN: usize = 2048;

    fn scratch(case: &Case) -> usize {
        Problem::of(case).length
    }

    fn scalar<T: Stored>(mut part: Part<'_>) -> Result<(), KernelError> {
        let problem = Problem::of(part.case);
        let x = (!problem.is_in_place).then(|| part.input_for::<T>(0, 0)).transpose()?;
        let first = part.range(0).start;
        let mut y = part.output::<T>(0)?;
        for i in 0..y.rows() {
            let x = x.map(|x| x.row(i));
            let (y, masked) = y.row_mut(i).split_at_mut(problem.width(first + i));
            let (max, sum) = max_and_sum_scalar(x.map_or(&*y, |x| &x[..y.len()]));
            let factor = 1.0 / sum;
            for (j, y) in y.iter_mut().enumerate() {
                let x = x.map_or(*y, |x| x[j]);
                *y = T::narrow((x.widen() - max).exp() * factor);
            }
            // NaN where the row is.
            masked.fill(T::narrow(0.0 / sum));
        }
        Ok(())
    }

    #[inline(always)]
    fn simd<S: Simd, T: Stored>(simd: S, mut part: Part<'_>) -> Result<(), KernelError> {
        let problem = Problem::of(part.case);
        let x = if problem.is_in_place { None } else { Some(part.input_for::<T>(0, 0)?) };
        let first = part.range(0).start;
        let mut y = part.output::<T>(0)?;
        for i in 0..y.rows() {
            let (y, masked) = y.row_mut(i).split_at_mut(problem.width(first + i));
            let e = &mut part.scratch[..y.len()];
            let (_, sum) = match x {
                Some(x) => max_and_sum(simd, &x.row(i)[..y.len()], e),
                None => max_and_sum(simd, y, e),
            };
            let factor = simd.splat(1.0 / sum);
            vectors!(S, simd, [e: f32 in e] => y: T in y, simd.mul(e, factor));
            // NaN where the row is.
            masked.fill(T::narrow(0.0 / sum));
        }
        Ok(())
    }
}
