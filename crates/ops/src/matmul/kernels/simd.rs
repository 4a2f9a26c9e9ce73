//! Blocked product on one thread; operands are packed within each call.
//!
//! Idea: BLIS's five loops over panels that the call packs itself (see `blocks::gemm`). Each
//! element of A is packed once per 1,024 columns, or once if there are at most 168 rows; each of B
//! once. A term costs 2 flops, and a tile reads mr + nr packed floats for mr·nr of them. The sums
//! of a tile, and the rows that are packed next, are fetched while it is computed. Up to 16 rows
//! nothing is packed: B is read once, as it is stored, at the rate of the memory it lies in; up to
//! 256 columns of f32 A is not packed.
//! Registers: AVX-512 14×32 in 28 accumulators, 2 loads, 1 broadcast, or a lower tile that fits the
//! rows (few columns: 8×48 in 24, 3 and 1); AVX2 6×16 in 12, 2 and 1; scalar 4×4.
//! What did not help: 8×48 and 12×32 tiles (the same within 2 %), a panel of untransposed B packed
//! just before its use (its rows lie in few sets of L2), and fetching untransposed B beside the
//! sums or beside its packing (products of 32 rows take 1.1 to 1.2 times as long).

use super::blocked::{self, Source};
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_terms::{Case, ErrorContract, Isa};

/// The kernel.
#[derive(Debug)]
pub(crate) struct Simd;

impl Kernel for Simd {
    fn name(&self) -> &'static str {
        "simd"
    }

    fn summary(&self) -> &'static str {
        "packed panels and register tiles on one thread"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar, Isa::Avx2, Isa::Avx512]
    }

    fn supports(&self, _case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        Ok(())
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        blocked::contract()
    }

    fn workspace_bytes(&self, case: &Case, isa: Isa, _threads: usize) -> usize {
        blocked::workspace_bytes(case, isa, 1, Source::Operand)
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        blocked::run(call, 1, Source::Operand)
    }
}
