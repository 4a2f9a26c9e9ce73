//! The simd kernel on several threads, each with a range of the rows of y.
//!
//! Idea: rows of y are split in whole lines of x, so that no two threads read the same; nothing is
//! computed, so no split changes a bit.

use super::simd;
use crate::blocks::made::{Made, typed};
use crate::blocks::stored::Stored;
use crate::blocks::tuned;
use crate::transpose::definition::Problem;
use proofmark_contract::{Call, KernelError, PartUnit};

/// Elements that keep a thread busy for longer than the pool's hand-over takes (1.2 µs on the
/// machine that chose the pool).
const GRAIN: usize = 8192;
/// Elements of 16 bits in a cache line.
const LINE: usize = 32;

/// The kernel.
pub(crate) static PARALLEL: Made =
    Made::parallel("the simd kernel on a range of the rows of y for each thread", |call| {
        typed!(call.case.dtype, run(call))
    })
    .exact()
    .tuned(PartUnit::Elements);

fn run<T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let (x, y) = (call.inputs[0].rows::<T>()?, call.outputs[0].rows_mut::<T>()?);
    let (rows, isa) = (y.rows(), call.isa);
    let grain =
        tuned::grain(&call.case.op, GRAIN).div_ceil(problem.m.max(1)).next_multiple_of(LINE);
    let parts = call.threads.min(rows.div_ceil(grain)).max(1);
    call.pool.for_rows(parts, y, grain, |range, own| {
        simd::rows(isa, &problem, x, own, range.start);
    });
    Ok(())
}
