//! What the tiled kernels share: tasks, their scratch memory, and the way to run them.
//!
//! A head of keys is read for all rows that share it: `group · q` rows of the queries, which lie
//! together. Few such rows go through [`super::thin`], many through [`super::strip`]. A task is one
//! such head, or a block of queries of it. Tasks depend on nothing but the case, so the bits do not
//! depend on the number of threads or on which thread runs which task.

use super::{strip, thin};
use crate::attention::definition::Problem;
use crate::blocks::made::typed;
use crate::blocks::scratch::elements_mut;
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, KernelError, Unsupported};
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::{Pool, Rows, RowsMut, SharedRows};
use proofmark_terms::{Case, DType, Isa};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A cache line of floats, so that no line belongs to two threads.
pub(super) const LINE: usize = 16;

/// Positions of keys are compared as f32, which is exact below this.
const MOST_KEYS: usize = 1 << 24;

/// Whether the tiled kernels do a case.
pub(super) fn supports(case: &Case) -> Result<(), Unsupported> {
    if Problem::of(case).keys < MOST_KEYS {
        return Ok(());
    }
    Err(Unsupported(format!("{MOST_KEYS} keys and more are not done")))
}

/// The operands of a call.
pub(super) struct Operands<'a, T> {
    pub(super) problem: Problem,
    pub(super) q: Rows<'a, T>,
    pub(super) k: Rows<'a, T>,
    pub(super) v: Rows<'a, T>,
    /// Each row is written by the one task that it belongs to.
    pub(super) o: SharedRows<'a, T>,
}

impl<'a, T: Stored> Operands<'a, T> {
    /// The operands of a call, with the memory it may work in.
    ///
    /// # Errors
    /// If they are not those of the signature.
    pub(super) fn of(call: &'a mut Call<'_>) -> Result<(Self, &'a mut [u8]), KernelError> {
        let problem = Problem::of(call.case);
        let [q, k, v] = [0, 1, 2].map(|operand| call.inputs[operand].rows::<T>());
        let (q, k, v, o) = (q?, k?, v?, call.outputs[0].rows_mut::<T>()?);
        let kv_rows = problem.batches * problem.kv_heads * problem.keys;
        let got = [q.rows(), k.rows(), v.rows(), o.rows()];
        let widths = [q.cols(), k.cols(), v.cols(), o.cols()];
        if got != [problem.rows(), kv_rows, kv_rows, problem.rows()] || widths != [problem.width; 4]
        {
            return Err(KernelError::Refused(format!("operands have {got:?} rows of {widths:?}")));
        }
        // SAFETY: the view is not used again while its handle is.
        let o = unsafe { o.share() };
        Ok((Operands { problem, q, k, v, o }, &mut *call.workspace))
    }

    /// The one row of the output.
    ///
    /// # Safety
    /// The row belongs to the caller's task, which holds no other view of it.
    #[inline(always)]
    pub(super) unsafe fn output(&self, row: usize) -> RowsMut<'a, T> {
        // SAFETY: as the caller promises.
        unsafe { self.o.range_mut(row..row + 1) }
    }
}

/// Rows of the queries that share a head of keys.
pub(super) fn shared_rows(problem: &Problem) -> usize {
    problem.group() * problem.queries
}

/// The keys that some query of a head sees.
pub(super) fn seen_keys(problem: &Problem) -> Range<usize> {
    let last = problem.queries.saturating_sub(1);
    problem.visible(0).start..problem.visible(last).end
}

/// Whether so few rows share a head of keys that reading the keys is the work.
pub(super) fn is_thin(problem: &Problem) -> bool {
    shared_rows(problem) <= thin::MOST_ROWS
}

/// Tasks of a case.
fn tasks(problem: &Problem) -> usize {
    let heads = problem.batches * problem.kv_heads;
    if is_thin(problem) { heads } else { heads * strip::blocks(problem) }
}

/// Floats of scratch memory for a thread.
fn scratch(case: &Case, isa: Isa) -> usize {
    let problem = Problem::of(case);
    match is_thin(&problem) {
        true => thin::scratch(&problem),
        false => strip::scratch(&problem, isa, case.dtype == DType::F32),
    }
}

/// Bytes of scratch memory for all threads.
pub(super) fn workspace_bytes(case: &Case, isa: Isa, threads: usize) -> usize {
    threads.max(1) * scratch(case, isa) * size_of::<f32>()
}

/// Computes the case on `threads` threads.
pub(super) fn run(call: &mut Call<'_>, threads: usize) -> Result<(), KernelError> {
    typed!(call.case.dtype, share_out(call, threads))
}

/// Runs all tasks; an idle thread takes the next one.
fn share_out<T: Stored>(call: &mut Call<'_>, threads: usize) -> Result<(), KernelError> {
    let (isa, pool, each) = (call.isa, call.pool, scratch(call.case, call.isa));
    let (operands, workspace) = Operands::<T>::of(call)?;
    if operands.problem.rows() * operands.problem.width == 0 {
        return Ok(());
    }
    let tasks = tasks(&operands.problem);
    let workspace = elements_mut::<f32>(workspace, threads * each, "workspace")?;
    let workspace = RowsMut::from_slice(workspace, threads, each);
    each_task(pool, workspace, tasks, |scratch, index| {
        dispatch(isa, Task { operands: &operands, index, scratch });
    });
    Ok(())
}

/// Calls `work` with each task, the last first: the last queries see the most keys, so the tasks
/// that remain at the end are short. A row of `own` is the memory of a thread.
pub(super) fn each_task<T: Send>(
    pool: &Pool,
    mut own: RowsMut<'_, T>,
    tasks: usize,
    work: impl Fn(&mut [T], usize) + Sync,
) {
    let (next, threads) = (AtomicUsize::new(0), own.rows().min(tasks.max(1)));
    pool.with_rows(own.range(0..threads), |_, own| {
        loop {
            let taken = next.fetch_add(1, Ordering::Relaxed);
            if taken >= tasks {
                return;
            }
            work(own, tasks - 1 - taken);
        }
    });
}

/// One task of a call.
struct Task<'a, 'b, T> {
    operands: &'a Operands<'b, T>,
    index: usize,
    scratch: &'a mut [f32],
}

impl<T: Stored> Body for Task<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Task { operands, index, scratch } = self;
        if is_thin(&operands.problem) {
            thin::head(simd, operands, index, scratch);
            return;
        }
        // The level is a constant of `S`, so one arm is left in each instance.
        match S::ISA {
            Isa::Scalar => strip::block::<S, T, 4, 4, 4>(simd, operands, index, scratch),
            Isa::Avx2 => strip::block::<S, T, 2, 6, 4>(simd, operands, index, scratch),
            Isa::Avx512 => strip::block::<S, T, 2, 8, 8>(simd, operands, index, scratch),
        }
    }
}
