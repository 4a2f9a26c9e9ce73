//! The simd kernel on several threads, each with a range of rows.
//!
//! Idea: rows are independent, so the bits do not depend on the number of threads. Traffic,
//! flops and registers are those of the simd kernel; each thread has its own row of scratch
//! memory. No more threads are woken than have [`GRAIN`] elements each.

use super::simd::{Softened, SoftmaxRows, scratch_rows, scratch_stride};
use super::{Scalar, Simd};
use crate::softmax::definition::Problem;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, DType, ErrorContract, Isa};
use proofmark_simd::dispatch;
use proofmark_tensor::{bf16, split};

/// Elements that keep a thread busy for about as long as the pool's hand-over takes (1.2 µs on
/// the machine that chose the pool).
const GRAIN: usize = 2048;

/// The kernel.
#[derive(Debug)]
pub(crate) struct Parallel;

impl Kernel for Parallel {
    fn name(&self) -> &'static str {
        "parallel"
    }

    fn summary(&self) -> &'static str {
        "the simd kernel on a range of rows for each thread"
    }

    fn isas(&self) -> &'static [Isa] {
        &Isa::ALL
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn supports(&self, case: &Case, isa: Isa) -> Result<(), Unsupported> {
        Scalar.supports(case, isa)
    }

    fn contract(&self, case: &Case) -> ErrorContract {
        Simd.contract(case)
    }

    fn workspace_bytes(&self, case: &Case, _isa: Isa, threads: usize) -> usize {
        threads.max(1) * scratch_stride(case) * size_of::<f32>()
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
    let rows = y.rows();
    let parts = call.threads.min((rows * y.cols()).div_ceil(GRAIN)).max(1);
    let scratch = scratch_rows(call.case, call.workspace, parts)?;
    // SAFETY: neither view is used again while its handle is.
    let (y, scratch) = unsafe { (y.share(), scratch.share()) };
    let isa = call.isa;
    call.pool.run(parts, &|index| {
        let range = split(rows, parts, index, 1);
        let x = x.map(|x| x.range(range.clone()));
        // SAFETY: the ranges of different indices do not meet, in `y` nor in the scratch memory.
        let (y, scratch) = unsafe { (y.range_mut(range), scratch.range_mut(index..index + 1)) };
        dispatch(isa, SoftmaxRows { x, y, scratch });
    });
    Ok(())
}
