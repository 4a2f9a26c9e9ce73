//! The simd kernel on several threads, each with columns of its own, or rows where there are more.
//!
//! Idea: a thread reads its own weights, so two threads draw twice the bandwidth. Terms are not
//! split, so the bits do not depend on the number of threads.

use super::Inputs;
use crate::matmul_q8::definition::Problem;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, ErrorContract, Isa};
use proofmark_tensor::{RowsMut, split};

/// Products that keep a thread busy for longer than the pool's hand-over takes.
const GRAIN: usize = 1 << 16;

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
        "the simd kernel on columns or rows of its own for each thread"
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
        super::contract()
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        let inputs = Inputs::of(call)?;
        let Problem { m, n, k, .. } = inputs.problem;
        let (isa, parts) = (call.isa, call.threads.min((m * n * k).div_ceil(GRAIN)).max(1));
        let output = call.outputs[0].rows_mut::<f32>()?;
        // SAFETY: the view is not used again while the handle is.
        let output = unsafe { output.share() };
        call.pool.run(parts, &|index| {
            let (rows, columns) = if m > n {
                (split(m, parts, index, TOGETHER), 0..n)
            } else {
                (0..m, split(n, parts, index, TOGETHER))
            };
            let at = rows.start * output.row_stride() + columns.start;
            // SAFETY: the block lies in the output, which has `m` rows of `n`; blocks of
            // different indices differ in rows or columns.
            let own = unsafe {
                let corner = output.as_mut_ptr().add(at);
                RowsMut::from_raw(corner, rows.len(), columns.len(), output.row_stride())
            };
            inputs.multiply(isa, rows, columns, own);
        });
        Ok(())
    }
}
