//! Blocked product on one thread with a right operand that was packed before.
//!
//! Idea: a weight is the same for many calls, so `prepare` packs it once, outside the timed part,
//! as f32 (twice the bytes of a bf16 weight); a call packs only A.
//! Registers: AVX-512 14×32 in 28 accumulators, 2 loads, 1 broadcast; AVX2 6×16 in 12, 2 and
//! 1; scalar 4×4.

use super::blocked::{self, Source};
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, ErrorContract, Isa};

/// The kernel.
#[derive(Debug)]
pub(crate) struct Prepacked;

impl Kernel for Prepacked {
    fn name(&self) -> &'static str {
        "prepacked"
    }

    fn summary(&self) -> &'static str {
        "as simd, but B is packed once outside the timed part"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar, Isa::Avx2, Isa::Avx512]
    }

    fn supports(&self, case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        if case.flag("shared", false) || case.size("b").unwrap_or(1) == 1 {
            return Ok(());
        }
        Err(Unsupported("every batch has its own B: nothing to pack once".to_owned()))
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        blocked::contract()
    }

    fn workspace_bytes(&self, case: &Case, isa: Isa, _threads: usize) -> usize {
        blocked::workspace_bytes(case, isa, 1, Source::Prepared)
    }

    fn prepared_bytes(&self, case: &Case, isa: Isa) -> usize {
        blocked::prepared_bytes(case, isa)
    }

    fn prepare(&self, call: &mut Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
        blocked::prepare(call, prepared)
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        blocked::run(call, 1, Source::Prepared)
    }
}
