//! The kernels of RMS normalisation: each row by itself (see [`Rms`]).

use super::definition::{Problem, RmsNorm};
use crate::blocks::row::{Part, Rms, RowOp};
use crate::blocks::stored::Stored;
use proofmark_contract::KernelError;
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_terms::Isa;

/// One row on one path, as the simd kernel does it.
pub(super) fn one_row<T: Stored>(isa: Isa, rms: Rms, x: &[T], w: &[T], y: &mut [T]) {
    dispatch(isa, OneRow { rms, x, w, y });
}

struct OneRow<'a, T> {
    rms: Rms,
    x: &'a [T],
    w: &'a [T],
    y: &'a mut [T],
}

impl<T: Stored> Body for OneRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.rms.simd(simd, self.x, self.w, self.y);
    }
}

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
