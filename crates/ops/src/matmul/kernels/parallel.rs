//! Blocked product whose batches, rows or columns are split among threads.
//!
//! Idea: each thread runs the `simd` product on its own part and packs what it needs itself, so
//! threads never wait for each other; parts are a grid that packs the least twice. Terms are
//! never split, so every thread count gives the same bits.
//! Registers: as `simd`.

use super::blocked::{self, Source};
use crate::blocks::tuned;
use crate::matmul::products;
use proofmark_contract::{Call, Kernel, KernelError, PartUnit, Unsupported};
use proofmark_terms::{Case, ErrorContract, Isa};

/// Multiply-adds that keep a thread busy for longer than the pool's hand-over takes.
const GRAIN: usize = 1 << 16;

/// Threads that are woken. Scratch memory is for these: fewer of them need more of it each.
fn parts(case: &Case, threads: usize) -> usize {
    tuned::parts(&case.op, threads, products(case), GRAIN)
}

/// The kernel.
#[derive(Debug)]
pub(crate) struct Parallel;

impl Kernel for Parallel {
    fn name(&self) -> &'static str {
        "parallel"
    }

    fn summary(&self) -> &'static str {
        "the packed product, with batches, rows or columns split among threads"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar, Isa::Avx2, Isa::Avx512]
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn part_unit(&self) -> Option<PartUnit> {
        Some(PartUnit::MultiplyAdds(products))
    }

    fn supports(&self, _case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        Ok(())
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        blocked::contract()
    }

    fn workspace_bytes(&self, case: &Case, isa: Isa, threads: usize) -> usize {
        blocked::workspace_bytes(case, isa, parts(case, threads), Source::Operand)
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        blocked::run(call, parts(call.case, call.threads), Source::Operand)
    }
}
