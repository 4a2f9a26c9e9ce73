//! Blocked product, split among threads, with a right operand that was packed before.
//!
//! Idea: a weight is the same for many calls, so `prepare` packs it once, outside the timed part,
//! as f32 (twice the bytes of a 16-bit weight); a call packs only A.
//! Registers: AVX-512 14×32 in 28 accumulators, 2 loads, 1 broadcast; AVX2 6×16 in 12, 2 and
//! 1; scalar 4×4.

use super::blocked::{self, Source};
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_terms::{Case, ErrorContract, Isa};

/// The kernel.
#[derive(Debug)]
pub(crate) struct Prepacked;

impl Kernel for Prepacked {
    fn name(&self) -> &'static str {
        "prepacked"
    }

    fn summary(&self) -> &'static str {
        "as parallel, but B is packed once outside the timed part"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar, Isa::Avx2, Isa::Avx512]
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn is_serial_twin(&self) -> bool {
        false
    }

    fn supports(&self, case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        blocked::has_one_weight(case)
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        blocked::contract()
    }

    fn workspace_bytes(&self, case: &Case, isa: Isa, threads: usize) -> usize {
        blocked::workspace_bytes(case, isa, threads, Source::Prepared)
    }

    fn prepared_bytes(&self, case: &Case, isa: Isa) -> usize {
        blocked::prepared_bytes(case, isa)
    }

    fn prepare(&self, call: &mut Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
        blocked::prepare(call, prepared)
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        blocked::run(call, call.threads, Source::Prepared)
    }
}
