//! Rows against rows in vectors, bytes widened to 16 bits: one source for every level.
//!
//! Idea: even and odd bytes of both operands are widened and multiplied in pairs into i32, which no
//! product of bytes saturates. A term costs 2 operations and a byte of each operand; a vector of
//! 64 bytes takes 2 multiplications for each of 16 sums. Registers: AVX-512 4 × 4 sums.

use super::whole;
use crate::blocks::made::Made;

/// The kernel.
pub(crate) static SIMD: Made =
    Made::simd("rows against rows in vectors, bytes widened to 16 bits", |call| whole(call, false))
        .exact();
