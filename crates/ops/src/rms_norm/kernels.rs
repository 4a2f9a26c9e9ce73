//! The kernels of RMS normalisation: each row by itself (see [`Rms`]).

use super::definition::{Problem, RmsNorm};
use crate::blocks::row::{Part, RowOp};
use crate::blocks::stored::Stored;
use proofmark_contract::KernelError;
use proofmark_simd::Simd;

impl RowOp for RmsNorm {
    const SCALAR: &'static str = "two passes over each row, one element at a time";
    const SIMD: &'static str = "two passes over each row in vectors";
    const GRAIN: usize = 8192;

    fn scalar<T: Stored>(mut part: Part<'_>) -> Result<(), KernelError> {
        let (x, w, mut y) = (part.input_for(0, 0)?, part.vector(1)?, part.output::<T>(0)?);
        let rms = Problem::of(part.case).rms();
        (0..x.rows()).for_each(|i| rms.scalar(x.row(i), w, y.row_mut(i)));
        Ok(())
    }

    #[inline(always)]
    fn simd<S: Simd, T: Stored>(simd: S, mut part: Part<'_>) -> Result<(), KernelError> {
        let (x, w, mut y) = (part.input_for(0, 0)?, part.vector(1)?, part.output::<T>(0)?);
        let rms = Problem::of(part.case).rms();
        for i in 0..x.rows() {
            rms.simd(simd, x.row(i), w, y.row_mut(i));
        }
        Ok(())
    }
}
