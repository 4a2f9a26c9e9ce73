//! The simd kernel on several threads, by heads of keys and blocks of queries.
//!
//! Idea: rows are independent, and tasks are cut by the case alone, so the bits do not depend on
//! the number of threads. Whoever is free takes the next task, the longest first: under a mask
//! they differ in length. Each thread has its own scratch memory; traffic, flops and registers
//! are those of the simd kernel.

use super::tiled;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, ErrorContract, Isa};

/// The kernel.
#[derive(Debug)]
pub(crate) struct Parallel;

impl Kernel for Parallel {
    fn name(&self) -> &'static str {
        "parallel"
    }

    fn summary(&self) -> &'static str {
        "the simd kernel, heads and blocks of queries shared out to threads"
    }

    fn isas(&self) -> &'static [Isa] {
        &Isa::ALL
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn supports(&self, case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        tiled::supports(case)
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        tiled::contract()
    }

    fn workspace_bytes(&self, case: &Case, isa: Isa, threads: usize) -> usize {
        tiled::workspace_bytes(case, isa, threads)
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        tiled::run(call, call.threads)
    }
}
