//! Rows against rows in vectors, bytes widened to 16 bits: one source for every level.
//!
//! Idea: even and odd bytes of both operands are widened and multiplied in pairs into i32, which no
//! product of bytes saturates. A term costs 2 operations and a byte of each operand; a vector of
//! 64 bytes takes 2 multiplications for each of 16 sums. Registers: AVX-512 4 × 4 sums.

use super::{contract, whole};
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, ErrorContract, Isa};

/// The kernel.
#[derive(Debug)]
pub(crate) struct Simd;

impl Kernel for Simd {
    fn name(&self) -> &'static str {
        "simd"
    }

    fn summary(&self) -> &'static str {
        "rows against rows in vectors, bytes widened to 16 bits"
    }

    fn isas(&self) -> &'static [Isa] {
        &Isa::ALL
    }

    fn supports(&self, _case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        Ok(())
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        contract()
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        whole(call, false)
    }
}
