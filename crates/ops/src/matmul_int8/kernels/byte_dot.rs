//! Rows against rows by the instruction that multiplies bytes (AVX-VNNI, AVX512-VNNI).
//!
//! Idea: the instruction wants one factor unsigned, so 128 is added to the left bytes by flipping
//! their top bit, and 128 times the sum of the right row, computed once for a block of rows, is
//! taken off. One instruction for 64 products, four times the widened ones. Registers: AVX-512
//! 6 × 4 sums, AVX2 2 × 4.

use super::{contract, whole};
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, ErrorContract, Isa};
use proofmark_simd::has_byte_dot;

/// The kernel.
#[derive(Debug)]
pub(crate) struct ByteDot;

impl Kernel for ByteDot {
    fn name(&self) -> &'static str {
        "byte_dot"
    }

    fn summary(&self) -> &'static str {
        "rows against rows by the instruction for products of bytes"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Avx2, Isa::Avx512]
    }

    fn supports(&self, _case: &Case, isa: Isa) -> Result<(), Unsupported> {
        match has_byte_dot(isa) {
            true => Ok(()),
            false => Err(Unsupported(format!("this processor has no byte products for {isa}"))),
        }
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        contract()
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        whole(call, true)
    }
}
