//! One vector after the other, one source for every instruction-set level.
//!
//! Idea: maximum; exponentials with their sum, kept as f32 (in y itself, or in the workspace
//! where y is narrower); product with one over the sum. 1 exponential and 4 flops an element, 8
//! bytes an f32 element from memory if a row stays in cache between the passes. Registers: 4
//! accumulators for the maximum; 12 constants, 4 sums and 4 temporaries for the exponential, so
//! that with 16 registers some constants come from memory.
//!
//! Error: exponential within 2 ulp; its argument, the sum's reciprocal and the product rounded
//! once each.

use super::Scalar;
use crate::blocks::math::exp;
use crate::blocks::row;
use crate::blocks::stored::Stored;
use crate::softmax::definition::Problem;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, DType, ErrorContract, Isa, Reproducibility};
use proofmark_simd::{Body, dispatch};
use proofmark_tensor::{Rows, RowsMut, bf16};

/// Sums in flight: a quarter of the terms each, which keeps more digits than one long chain.
const CHAINS: usize = 4;

/// The kernel.
#[derive(Debug)]
pub(crate) struct Simd;

impl Kernel for Simd {
    fn name(&self) -> &'static str {
        "simd"
    }

    fn summary(&self) -> &'static str {
        "three passes over each row in vectors, each exponential computed once"
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

    fn workspace_bytes(&self, case: &Case, _isa: Isa, _threads: usize) -> usize {
        scratch_stride(case) * size_of::<f32>()
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        match call.case.dtype {
            DType::F32 => run::<f32>(call),
            DType::Bf16 => run::<bf16>(call),
            other => Err(KernelError::Refused(format!("element type {other} is not done"))),
        }
    }
}

fn run<T: Softened>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let x = match Problem::of(call.case).is_in_place {
        true => None,
        false => Some(call.inputs[0].rows::<T>()?),
    };
    let y = call.outputs[0].rows_mut::<T>()?;
    let scratch = scratch_rows(call.case, call.workspace, 1)?;
    dispatch(call.isa, SoftmaxRows { x, y, scratch });
    Ok(())
}

/// Elements of scratch memory for one row of exponentials: none where y holds them, else whole
/// cache lines, so that threads do not share one.
pub(super) fn scratch_stride(case: &Case) -> usize {
    let length = Problem::of(case).length.next_multiple_of(16);
    if case.dtype == DType::F32 { 0 } else { length }
}

/// The workspace as `rows` rows of exponentials.
pub(super) fn scratch_rows<'a>(
    case: &Case,
    workspace: &'a mut [u8],
    rows: usize,
) -> Result<RowsMut<'a, f32>, KernelError> {
    let stride = scratch_stride(case);
    let (got, need) = (workspace.len(), rows * stride * size_of::<f32>());
    let base = workspace.as_mut_ptr().cast::<f32>();
    if got < need {
        return Err(KernelError::TooSmall { what: "workspace", got, need });
    }
    if !base.is_aligned() {
        return Err(KernelError::Refused("the workspace is not aligned for f32".to_owned()));
    }
    // SAFETY: `rows` rows of `stride` elements lie in the workspace, which is borrowed for 'a;
    // it is aligned, as just checked, and any bits are an f32.
    Ok(unsafe { RowsMut::from_raw(base, rows, stride, stride) })
}

/// An element type with its way through the passes.
pub(super) trait Softened: Stored {
    /// One row; `x` is in `y` if it is `None`.
    fn soften<S: proofmark_simd::Simd>(
        simd: S,
        x: Option<&[Self]>,
        y: &mut [Self],
        scratch: &mut [f32],
    );
}

impl Softened for f32 {
    #[inline(always)]
    fn soften<S: proofmark_simd::Simd>(
        simd: S,
        x: Option<&[f32]>,
        y: &mut [f32],
        _scratch: &mut [f32],
    ) {
        let sum = match x {
            Some(x) => exponentials(simd, x, y),
            None => exponentials_in_place(simd, y),
        };
        let factor = simd.splat(1.0 / sum);
        let mut vectors = y.chunks_exact_mut(S::LANES);
        for part in &mut vectors {
            simd.store(simd.mul(simd.load(part), factor), part);
        }
        let tail = vectors.into_remainder();
        simd.store_partial(simd.mul(simd.load_partial(tail, 0.0), factor), tail);
    }
}

impl Softened for bf16 {
    #[inline(always)]
    fn soften<S: proofmark_simd::Simd>(
        simd: S,
        x: Option<&[bf16]>,
        y: &mut [bf16],
        scratch: &mut [f32],
    ) {
        let scratch = &mut scratch[..y.len()];
        let sum = exponentials(simd, x.unwrap_or(y), scratch);
        let factor = simd.splat(1.0 / sum);
        let mut from = scratch.chunks_exact(S::LANES);
        let mut to = y.chunks_exact_mut(S::LANES);
        for (from, to) in (&mut from).zip(&mut to) {
            bf16::store(simd, simd.mul(simd.load(from), factor), to);
        }
        let tail = simd.load_partial(from.remainder(), 0.0);
        bf16::store_partial(simd, simd.mul(tail, factor), to.into_remainder());
    }
}

/// Writes `exp(x − max x)` to `e` and returns its sum.
#[inline(always)]
fn exponentials<S: proofmark_simd::Simd, T: Stored>(simd: S, x: &[T], e: &mut [f32]) -> f32 {
    let max = simd.splat(row::max(simd, x));
    let mut sums = [simd.zero(); CHAINS];
    let mut from = x.chunks_exact(CHAINS * S::LANES);
    let mut to = e.chunks_exact_mut(CHAINS * S::LANES);
    for (from, to) in (&mut from).zip(&mut to) {
        let parts = from.chunks_exact(S::LANES).zip(to.chunks_exact_mut(S::LANES));
        for (sum, (from, to)) in sums.iter_mut().zip(parts) {
            let value = exp(simd, simd.sub(T::load(simd, from), max));
            *sum = simd.add(*sum, value);
            simd.store(value, to);
        }
    }
    let parts = from.remainder().chunks(S::LANES).zip(to.into_remainder().chunks_mut(S::LANES));
    for (sum, (from, to)) in sums.iter_mut().zip(parts) {
        // Lanes past the end are exp(-∞) = 0 and change no sum.
        let value = T::load_partial(simd, from, f32::NEG_INFINITY);
        let value = exp(simd, simd.sub(value, max));
        *sum = simd.add(*sum, value);
        simd.store_partial(value, to);
    }
    join(simd, sums)
}

/// As [`exponentials`], in place.
#[inline(always)]
fn exponentials_in_place<S: proofmark_simd::Simd>(simd: S, y: &mut [f32]) -> f32 {
    let max = simd.splat(row::max(simd, y));
    let mut sums = [simd.zero(); CHAINS];
    let mut blocks = y.chunks_exact_mut(CHAINS * S::LANES);
    for block in &mut blocks {
        for (sum, part) in sums.iter_mut().zip(block.chunks_exact_mut(S::LANES)) {
            let value = exp(simd, simd.sub(simd.load(part), max));
            *sum = simd.add(*sum, value);
            simd.store(value, part);
        }
    }
    for (sum, part) in sums.iter_mut().zip(blocks.into_remainder().chunks_mut(S::LANES)) {
        let value = simd.load_partial(part, f32::NEG_INFINITY);
        let value = exp(simd, simd.sub(value, max));
        *sum = simd.add(*sum, value);
        simd.store_partial(value, part);
    }
    join(simd, sums)
}

#[inline(always)]
fn join<S: proofmark_simd::Simd>(simd: S, [a, b, c, d]: [S::F; CHAINS]) -> f32 {
    simd.reduce_sum(simd.add(simd.add(a, b), simd.add(c, d)))
}

/// The softmax of every row of `x`, or of `y` in place.
pub(super) struct SoftmaxRows<'a, T> {
    /// The rows to read; `None`: those of `y`.
    pub(super) x: Option<Rows<'a, T>>,
    /// The rows to write.
    pub(super) y: RowsMut<'a, T>,
    /// One row of scratch memory.
    pub(super) scratch: RowsMut<'a, f32>,
}

impl<T: Softened> Body for SoftmaxRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: proofmark_simd::Simd>(mut self, simd: S) {
        if self.y.cols() == 0 {
            return;
        }
        for i in 0..self.y.rows() {
            let x = self.x.map(|x| x.row(i));
            T::soften(simd, x, self.y.row_mut(i), self.scratch.row_mut(0));
        }
    }
}
