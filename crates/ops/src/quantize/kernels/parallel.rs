//! The simd kernel on several threads, each with groups or rows of its own.
//!
//! Idea: threads take whole bands of groups. One scale for all needs the range of all first, so
//! there threads find the ranges of their rows, wait, and write their codes. No more threads are
//! woken than have [`GRAIN`] elements each. Traffic and flops are those of the simd kernel.

use super::sheet::{Coded, Sheet};
use super::simd::{Dequantise, Encode, Quantise, Ranges};
use super::step::{Range, step};
use super::with_types;
use crate::blocks::made::Made;
use crate::blocks::quantise::Step;
use crate::blocks::scratch::elements_mut;
use crate::blocks::stored::Stored;
use crate::blocks::tuned;
use crate::quantize::definition::Plan;
use proofmark_contract::{Call, KernelError, PartUnit};
use proofmark_simd::dispatch;
use proofmark_tensor::{RowsMut, split};

/// Elements that keep a thread busy for longer than the pool's hand-over takes.
const GRAIN: usize = 8192;

/// Floats between the ranges of two threads: a cache line.
const LINE: usize = 16;

/// The kernel.
pub(crate) static PARALLEL: Made = Made {
    workspace: |_, _, threads| threads.max(1) * LINE * size_of::<f32>(),
    ..Made::parallel("the simd kernel on groups or rows of its own for each thread", run)
        .exact()
        .tuned(PartUnit::Elements)
};

fn run(call: &mut Call<'_>) -> Result<(), KernelError> {
    let plan = Plan::of(call.case);
    with_types!(call.case, T, C => match (plan.is_forward, plan.down) {
        (false, _) => back::<T, C>(call),
        (true, 1) => whole::<T, C>(call),
        (true, _) => bands::<T, C>(call),
    })
}

fn threads(call: &Call<'_>, plan: &Plan) -> usize {
    tuned::parts(&call.case.op, call.threads, plan.rows * plan.cols, GRAIN)
}

fn back<T: Stored, C: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let coded = Coded::<C>::of(call)?;
    let (isa, parts) = (call.isa, threads(call, &coded.plan));
    let y = call.outputs[0].rows_mut::<T>()?;
    call.pool.for_rows(parts, y, 1, |range, y| {
        let coded = Coded { first: range.start, codes: coded.codes.range(range), ..coded };
        dispatch(isa, Dequantise::<T, C> { coded, y });
    });
    Ok(())
}

fn bands<T: Stored, C: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let plan = Plan::of(call.case);
    let (isa, pool, parts) = (call.isa, call.pool, threads(call, &plan));
    let mut sheet = Sheet::<T, C>::of(call)?;
    let shared = sheet.share();
    pool.run(parts, &|index| {
        // SAFETY: the ranges of different indices do not meet.
        let own = unsafe { shared.bands(split(plan.down, parts, index, 1)) };
        dispatch(isa, Quantise(own));
    });
    Ok(())
}

/// One band: its rows are shared out, so each tile's range is put together from the threads'.
fn whole<T: Stored, C: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let plan = Plan::of(call.case);
    let (isa, pool, parts) = (call.isa, call.pool, threads(call, &plan));
    if plan.across != 1 || parts == 1 {
        return bands::<T, C>(call);
    }
    let mut step = Step::UNIT;
    if !plan.is_unit {
        let x = call.inputs[0].rows::<T>()?;
        let ranges = elements_mut::<f32>(call.workspace, parts * LINE, "workspace")?;
        let mut ranges = RowsMut::from_slice(ranges, parts, LINE);
        pool.with_rows(ranges.reborrow(), |index, own| {
            let rows = x.range(split(plan.rows, parts, index, 1));
            let range = dispatch(isa, Ranges { plan, x: rows });
            own[..2].copy_from_slice(&[range.low, range.high]);
        });
        let mut range = Range::EMPTY;
        for part in 0..parts {
            let of = ranges.row_mut(part);
            range = range.join(Range { low: of[0], high: of[1] });
        }
        step = self::step(&plan, range);
    }
    let mut sheet = Sheet::<T, C>::of(call)?;
    sheet.note(0, 0, step);
    let shared = sheet.share();
    pool.run(parts, &|index| {
        // SAFETY: the ranges of different indices do not meet.
        let (x, codes) = unsafe { shared.rows(split(plan.rows, parts, index, 1)) };
        dispatch(isa, Encode { plan, step, x, codes });
    });
    Ok(())
}
