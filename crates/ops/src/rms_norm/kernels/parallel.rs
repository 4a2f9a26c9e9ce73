//! The simd kernel on several threads, each with a range of rows.
//!
//! Idea: rows are independent, so the bits do not depend on the number of threads. Traffic,
//! flops and registers are those of the simd kernel. No more threads are woken than have
//! [`GRAIN`] elements each.

use super::{Scalar, simd};
use crate::blocks::stored::Stored;
use crate::rms_norm::definition::Problem;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, DType, ErrorContract, Isa};
use proofmark_tensor::{bf16, f16, split};

/// Elements that keep a thread busy for about as long as the pool's hand-over takes (1.2 µs on
/// the machine that chose the pool).
const GRAIN: usize = 8192;

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
        super::Simd.contract(case)
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
    let problem = Problem::of(call.case);
    let x = call.inputs[0].rows::<T>()?;
    let w = call.inputs[1].rows::<T>()?.row(0);
    let y = call.outputs[0].rows_mut::<T>()?;
    // SAFETY: `y` is not used again while the handle is.
    let shared = unsafe { y.share() };
    let isa = call.isa;
    let parts = call.threads.min((x.rows() * x.cols()).div_ceil(GRAIN)).max(1);
    call.pool.run(parts, &|index| {
        let range = split(x.rows(), parts, index, 1);
        // SAFETY: the ranges of different indices do not meet.
        let own = unsafe { shared.range_mut(range.clone()) };
        simd::normalise(isa, &problem, x.range(range), w, own);
    });
    Ok(())
}
