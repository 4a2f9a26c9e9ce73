//! Rows against rows on several threads, each with rows or columns of the output.
//!
//! Idea: the larger of the two operands is shared out, by the instruction for bytes where there is
//! one. Sums are exact, so the bits do not depend on the number of threads. No more threads are
//! woken than have [`GRAIN`] products each.

use super::Operands;
use crate::blocks::made::Made;
use crate::blocks::tuned;
use crate::matmul_int8::definition::Problem;
use proofmark_contract::{Call, KernelError, PartUnit};
use proofmark_tensor::split;
use proofmark_terms::Case;

/// Products that keep a thread busy for longer than the pool's hand-over takes.
const GRAIN: usize = 1 << 17;

/// Rows or columns that stay together: a multiple of every tile.
const TOGETHER: usize = 12;

/// The kernel.
pub(crate) static PARALLEL: Made =
    Made::parallel("rows against rows, with rows or columns of its own for each thread", run)
        .exact()
        .tuned(PartUnit::MultiplyAdds(products));

fn products(case: &Case) -> usize {
    let Problem { m, n, k, .. } = Problem::of(case);
    m * n * k
}

fn run(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let Problem { m, n, k, .. } = problem;
    let operands = Operands::of(&problem, call.inputs, call.outputs)?;
    let isa = call.isa;
    let parts = tuned::parts(&call.case.op, call.threads, m * n * k, GRAIN);
    call.pool.run(parts, &|index| {
        let (rows, columns) = if m > n {
            (split(m, parts, index, TOGETHER), 0..n)
        } else {
            (0..m, split(n, parts, index, TOGETHER))
        };
        // SAFETY: the ranges of different indices do not meet.
        unsafe { operands.multiply(isa, true, rows, columns) };
    });
    Ok(())
}
