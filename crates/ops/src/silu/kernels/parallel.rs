//! The simd kernel on several threads, each with a range of elements (dense) or rows (strided).
//!
//! Idea: elements are independent, so the bits do not depend on the number of threads, and dense
//! operands are split anywhere, so that one long row is shared too. Traffic, flops and registers
//! are those of the simd kernel. No more threads are woken than have [`GRAIN`] elements each.

use super::Scalar;
use super::simd::SiluRows;
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, DType, ErrorContract, Isa};
use proofmark_simd::dispatch;
use proofmark_tensor::{Rows, RowsMut, bf16, f16, split};

/// Elements that keep a thread busy for longer than the pool's hand-over takes: 1.6 µs, at 0.4 ns
/// an f32 element with AVX-512, against 1.2 µs on the machine that chose the pool.
const GRAIN: usize = 4096;

/// The kernel.
#[derive(Debug)]
pub(crate) struct Parallel;

impl Kernel for Parallel {
    fn name(&self) -> &'static str {
        "parallel"
    }

    fn summary(&self) -> &'static str {
        "the simd kernel on a range of elements for each thread"
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
    let x = call.inputs[0].rows::<T>()?;
    let mut y = call.outputs[0].rows_mut::<T>()?;
    // Rows of one element each, which the simd kernel puts together again.
    let (x, y) = match (x.as_slice(), y.as_mut_slice()) {
        (Some(x), Some(y)) => (Rows::from_slice(x, x.len(), 1), RowsMut::from_slice(y, x.len(), 1)),
        _ => (x, y.reborrow()),
    };
    // SAFETY: `y` is not used again while the handle is.
    let shared = unsafe { y.share() };
    let isa = call.isa;
    let grain = GRAIN.div_ceil(x.cols().max(1));
    let parts = call.threads.min(x.rows().div_ceil(grain)).max(1);
    call.pool.run(parts, &|index| {
        let range = split(x.rows(), parts, index, grain);
        // SAFETY: the ranges of different indices do not meet.
        let own = unsafe { shared.range_mut(range.clone()) };
        dispatch(isa, SiluRows { x: x.range(range), y: own });
    });
    Ok(())
}
