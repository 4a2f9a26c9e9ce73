//! One vector after the other, one source for every instruction-set level.
//!
//! Idea: a first pass sums the squares in four vector accumulators, a second multiplies; the row
//! is in the first-level cache by then (up to 8192 f32). Traffic x + y once and w from cache: 8
//! bytes an f32 element, 4 flops; memory is the limit. Registers: 4 accumulators in the first
//! pass; r, 1 and one vector each of x, w, y in the second.

use super::Scalar;
use crate::blocks::row;
use crate::blocks::stored::Stored;
use crate::rms_norm::definition::Problem;
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
        "two passes over each row in vectors"
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
    let w = call.inputs[1].rows::<T>()?.row(0);
    let y = call.outputs[0].rows_mut::<T>()?;
    normalise(call.isa, &Problem::of(call.case), x, w, y);
    Ok(())
}

/// Normalises every row of `x` into `y`.
pub(super) fn normalise<T: Stored>(
    isa: Isa,
    problem: &Problem,
    x: Rows<'_, T>,
    w: &[T],
    y: RowsMut<'_, T>,
) {
    let eps = problem.eps as f32;
    if problem.is_gemma {
        dispatch(isa, Normalise::<T, true> { x, w, y, eps });
    } else {
        dispatch(isa, Normalise::<T, false> { x, w, y, eps });
    }
}

struct Normalise<'a, T, const GEMMA: bool> {
    x: Rows<'a, T>,
    w: &'a [T],
    y: RowsMut<'a, T>,
    eps: f32,
}

impl<T: Stored, const GEMMA: bool> Body for Normalise<'_, T, GEMMA> {
    type Output = ();

    #[inline(always)]
    fn run<S: proofmark_simd::Simd>(mut self, simd: S) {
        let length = self.x.cols() as f32;
        for i in 0..self.x.rows() {
            let x = self.x.row(i);
            let mean = row::sum_of_squares(simd, x) / length;
            let r = simd.splat(1.0 / (mean + self.eps).sqrt());
            weigh::<S, T, GEMMA>(simd, x, r, self.w, self.y.row_mut(i));
        }
    }
}

/// `y = x · r · w`, or `x · r · (1 + w)`.
#[inline(always)]
fn weigh<S: proofmark_simd::Simd, T: Stored, const GEMMA: bool>(
    simd: S,
    x: &[T],
    r: S::F,
    w: &[T],
    y: &mut [T],
) {
    let mut x = x.chunks_exact(S::LANES);
    let mut w = w.chunks_exact(S::LANES);
    let mut y = y.chunks_exact_mut(S::LANES);
    for ((x, w), y) in (&mut x).zip(&mut w).zip(&mut y) {
        let weight = weight::<S, GEMMA>(simd, T::load(simd, w));
        T::store(simd, simd.mul(simd.mul(T::load(simd, x), r), weight), y);
    }
    let weight = weight::<S, GEMMA>(simd, T::load_partial(simd, w.remainder(), 0.0));
    let tail = T::load_partial(simd, x.remainder(), 0.0);
    T::store_partial(simd, simd.mul(simd.mul(tail, r), weight), y.into_remainder());
}

#[inline(always)]
fn weight<S: proofmark_simd::Simd, const GEMMA: bool>(simd: S, w: S::F) -> S::F {
    if GEMMA { simd.add(simd.splat(1.0), w) } else { w }
}
