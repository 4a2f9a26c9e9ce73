//! The simd kernel on several threads, each with a range of elements (dense) or rows (strided).
//!
//! Idea: traffic is the limit, and several cores move more than one. Dense operands are split
//! anywhere, so that one long row is shared too; no split changes a bit.

use super::{Way, run, simd};
use crate::blocks::made::Made;
use crate::blocks::stored::Stored;
use crate::blocks::tuned;
use proofmark_contract::{Call, KernelError, PartUnit};
use proofmark_tensor::{Rows, RowsMut};

/// Elements that keep a thread busy for longer than the pool's hand-over takes (1.2 µs on the
/// machine that chose the pool).
const GRAIN: usize = 16_384;

/// The kernel.
pub(crate) static PARALLEL: Made =
    Made::parallel("the simd kernel on a range of elements for each thread", run::<Threads>)
        .exact()
        .tuned(PartUnit::Elements);

struct Threads;

impl Way for Threads {
    fn run<T: Stored, U: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
        let (x, mut y) = (call.inputs[0].rows::<T>()?, call.outputs[0].rows_mut::<U>()?);
        // Rows of one element each, which the simd kernel puts together again.
        let (x, y) = match (x.as_slice(), y.as_mut_slice()) {
            (Some(x), Some(y)) => {
                (Rows::from_slice(x, x.len(), 1), RowsMut::from_slice(y, x.len(), 1))
            }
            _ => (x, y.reborrow()),
        };
        let isa = call.isa;
        let grain = tuned::grain(&call.case.op, GRAIN).div_ceil(x.cols().max(1));
        let parts = call.threads.min(x.rows().div_ceil(grain)).max(1);
        call.pool.for_rows(parts, y, grain, |range, own| simd::rows(isa, x.range(range), own));
        Ok(())
    }
}
