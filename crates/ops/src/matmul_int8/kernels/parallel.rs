//! Rows against rows on several threads, each with rows or columns of the output.
//!
//! Idea: the larger of the two operands is shared out, by the instruction for bytes where there is
//! one. Sums are exact, so the bits do not depend on the number of threads. No more threads are
//! woken than have [`GRAIN`] products each.

use super::{Operands, contract};
use crate::matmul_int8::definition::Problem;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, ErrorContract, Isa};
use proofmark_tensor::split;

/// Products that keep a thread busy for longer than the pool's hand-over takes.
const GRAIN: usize = 1 << 17;

/// Rows or columns that stay together: a multiple of every tile.
const TOGETHER: usize = 12;

/// The kernel.
#[derive(Debug)]
pub(crate) struct Parallel;

impl Kernel for Parallel {
    fn name(&self) -> &'static str {
        "parallel"
    }

    fn summary(&self) -> &'static str {
        "rows against rows, with rows or columns of its own for each thread"
    }

    fn isas(&self) -> &'static [Isa] {
        &Isa::ALL
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn supports(&self, _case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        Ok(())
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        contract()
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        let problem = Problem::of(call.case);
        let Problem { m, n, k, .. } = problem;
        let operands = Operands::of(&problem, call.inputs, call.outputs)?;
        let (isa, parts) = (call.isa, call.threads.min((m * n * k).div_ceil(GRAIN)).max(1));
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
}
