//! One vector after the other, one source for every instruction-set level.
//!
//! Idea: as the scalar kernel, with the vector exponential and a selection for the branch. Dense
//! operands are one long row, so that short rows pay for one tail and not for one each. x is read
//! and y written once, 8 bytes an f32 element; 1 exponential and 3 flops. Registers: 14 constants,
//! 12 of them the exponential's, x, e and a mask; with 16 registers some constants come from
//! cache. Vectors do not depend on each other, so latency hides behind the next ones.

use super::Scalar;
use crate::blocks::math::exp;
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, DType, ErrorContract, Isa, Reproducibility};
use proofmark_simd::{Body, dispatch};
use proofmark_tensor::{Rows, RowsMut, bf16, f16};

/// The kernel.
#[derive(Debug)]
pub(crate) struct Simd;

impl Kernel for Simd {
    fn name(&self) -> &'static str {
        "simd"
    }

    fn summary(&self) -> &'static str {
        "one pass in vectors, dense operands as one row"
    }

    fn isas(&self) -> &'static [Isa] {
        &Isa::ALL
    }

    fn supports(&self, case: &Case, isa: Isa) -> Result<(), Unsupported> {
        Scalar.supports(case, isa)
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        ErrorContract {
            reproducibility: Reproducibility::ThreadInvariant,
            ..ErrorContract::default()
        }
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        match call.case.dtype {
            DType::F32 => run::<f32>(call),
            DType::Bf16 => run::<bf16>(call),
            DType::F16 => run::<f16>(call),
            other => Err(KernelError::Refused(format!("element type {other} is not done"))),
        }
    }
}

fn run<T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let x = call.inputs[0].rows::<T>()?;
    let y = call.outputs[0].rows_mut::<T>()?;
    dispatch(call.isa, SiluRows { x, y });
    Ok(())
}

/// SiLU of every row of `x`.
pub(super) struct SiluRows<'a, T> {
    /// The rows to read.
    pub(super) x: Rows<'a, T>,
    /// The rows to write, as many and as long.
    pub(super) y: RowsMut<'a, T>,
}

impl<T: Stored> Body for SiluRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: proofmark_simd::Simd>(mut self, simd: S) {
        if let (Some(x), Some(y)) = (self.x.as_slice(), self.y.as_mut_slice()) {
            return row(simd, x, y);
        }
        for i in 0..self.x.rows() {
            row(simd, self.x.row(i), self.y.row_mut(i));
        }
    }
}

#[inline(always)]
fn row<S: proofmark_simd::Simd, T: Stored>(simd: S, x: &[T], y: &mut [T]) {
    let mut x = x.chunks_exact(S::LANES);
    let mut y = y.chunks_exact_mut(S::LANES);
    for (x, y) in (&mut x).zip(&mut y) {
        T::store(simd, silu(simd, T::load(simd, x)), y);
    }
    let tail = T::load_partial(simd, x.remainder(), 0.0);
    T::store_partial(simd, silu(simd, tail), y.into_remainder());
}

#[inline(always)]
fn silu<S: proofmark_simd::Simd>(simd: S, x: S::F) -> S::F {
    // exp(−x) would overflow below -88, where x·e^x has not vanished yet.
    let e = exp(simd, simd.neg(simd.abs(x)));
    let numerator = simd.select(simd.lt(x, simd.zero()), simd.mul(x, e), x);
    simd.div(numerator, simd.add(simd.splat(1.0), e))
}
