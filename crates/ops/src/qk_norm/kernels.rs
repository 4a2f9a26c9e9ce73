//! The kernels of the normalisation of queries and keys: each head by itself (see `Rms`).
//!
//! Heads are short (64 to 256 elements), so the root and quotient of each show; a thread gets its
//! share of the queries' heads and its share of the keys'.

use super::definition::{Problem, QkNorm};
use crate::blocks::row::{Part, RowOp};
use crate::blocks::stored::Stored;
use proofmark_contract::KernelError;
use proofmark_simd::Simd;

impl RowOp for QkNorm {
    const SCALAR: &'static str = "two passes over each head, one element at a time";
    const SIMD: &'static str = "two passes over each head in vectors";
    const GRAIN: usize = 4096;

    fn scalar<T: Stored>(mut part: Part<'_>) -> Result<(), KernelError> {
        let problem = Problem::of(part.case);
        let present = problem.present.len();
        for n in 0..present {
            let (x, w) = (part.input_for(n, n)?, part.vector(present + n)?);
            let (mut y, rms) = (part.output::<T>(n)?, problem.rows(n).rms());
            (0..x.rows()).for_each(|i| rms.scalar(x.row(i), w, y.row_mut(i)));
        }
        Ok(())
    }

    #[inline(always)]
    fn simd<S: Simd, T: Stored>(simd: S, mut part: Part<'_>) -> Result<(), KernelError> {
        let problem = Problem::of(part.case);
        let present = problem.present.len();
        for n in 0..present {
            let (x, w) = (part.input_for(n, n)?, part.vector(present + n)?);
            let (mut y, rms) = (part.output::<T>(n)?, problem.rows(n).rms());
            for i in 0..x.rows() {
                rms.simd(simd, x.row(i), w, y.row_mut(i));
            }
        }
        Ok(())
    }
}
