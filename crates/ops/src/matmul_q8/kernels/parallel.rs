//! The simd kernel on several threads, each with columns of its own, or rows where there are more.
//!
//! Idea: a thread reads its own weights, so two threads draw twice the bandwidth. Terms are not
//! split, so the bits do not depend on the number of threads.

use super::{Inputs, scratch};
use crate::blocks::made::Made;
use crate::blocks::scratch::elements_mut;
use crate::blocks::tuned;
use crate::matmul_q8::definition::Problem;
use proofmark_contract::{Call, KernelError, PartUnit};
use proofmark_tensor::{RowsMut, split};
use proofmark_terms::Case;

/// Products that keep a thread busy for longer than the pool's hand-over takes.
const GRAIN: usize = 1 << 16;

/// Rows that stay together: whole tiles.
const ROWS: usize = 12;
/// Columns that stay together: a packed panel.
const COLUMNS: usize = 32;

/// The kernel.
pub(crate) static PARALLEL: Made = Made {
    workspace: |case, isa, threads| threads.max(1) * scratch(case, isa) * size_of::<f32>(),
    ..Made::parallel("the simd kernel on columns or rows of its own for each thread", run)
}
.tuned(PartUnit::MultiplyAdds(products));

fn products(case: &Case) -> usize {
    let Problem { m, n, k, .. } = Problem::of(case);
    m * n * k
}

fn run(call: &mut Call<'_>) -> Result<(), KernelError> {
    let inputs = Inputs::of(call)?;
    let Problem { m, n, k, .. } = inputs.problem;
    let isa = call.isa;
    let parts = tuned::parts(&call.case.op, call.threads, m * n * k, GRAIN);
    let each = scratch(call.case, isa);
    let scratch = elements_mut(call.workspace, parts * each, "workspace")?;
    let scratch = RowsMut::from_slice(scratch, parts, each);
    let output = call.outputs[0].rows_mut::<f32>()?;
    // SAFETY: the view is not used again while the handle is.
    let output = unsafe { output.share() };
    call.pool.with_rows(scratch, |index, scratch| {
        let (rows, columns) = if m > n {
            (split(m, parts, index, ROWS), 0..n)
        } else {
            (0..m, split(n, parts, index, COLUMNS))
        };
        // SAFETY: blocks of different indices differ in rows or columns.
        let own = unsafe { output.block_mut(rows.clone(), columns.clone()) };
        inputs.multiply(isa, rows, columns, own, scratch);
    });
    Ok(())
}
