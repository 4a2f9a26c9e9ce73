//! Rows against rows by the instruction that multiplies bytes (AVX-VNNI, AVX512-VNNI).
//!
//! Idea: the instruction wants one factor unsigned, so 128 is added to the left bytes by flipping
//! their top bit, and 128 times the sum of the right row, computed once for a block of rows, is
//! taken off. One instruction for 64 products, four times the widened ones. Registers: AVX-512
//! 6 × 4 sums, AVX2 2 × 4.

use super::whole;
use crate::blocks::made::Made;
use proofmark_contract::Unsupported;
use proofmark_simd::has_byte_dot;
use proofmark_terms::Isa;

/// The kernel.
pub(crate) static BYTE_DOT: Made = Made {
    name: "byte_dot",
    isas: &[Isa::Avx2, Isa::Avx512],
    supports: |_, isa| match has_byte_dot(isa) {
        true => Ok(()),
        false => Err(Unsupported(format!("this processor has no byte products for {isa}"))),
    },
    ..Made::simd("rows against rows by the instruction for products of bytes", |call| {
        whole(call, true)
    })
    .exact()
};
