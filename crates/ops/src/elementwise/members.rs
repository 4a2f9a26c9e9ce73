//! The table of members: what tells one elementwise op from another.

use super::definition::{Elementwise, INPLACE, ROUNDING};
use super::{laws, oracle};
use crate::blocks::row::ROWS_ARE_INDEPENDENT;
use proofmark_schema::{DType, Reproducibility};
use proofmark_simd::Simd;

/// An elementwise op of `N` operands: its definition, and its formula twice.
pub(super) trait Member<const N: usize>: Send + Sync + 'static {
    /// Everything the gate needs.
    const DEFINITION: Elementwise;

    /// How far the formula's bits repeat; at least `ThreadInvariant`, for elements are independent.
    const REPRODUCIBILITY: Reproducibility;

    /// The formula in f32.
    fn scalar(x: [f32; N]) -> f32;

    /// The formula on vectors; implementations are `#[inline(always)]`.
    fn vector<S: Simd>(simd: S, x: [S::F; N]) -> S::F;
}

/// `c = a + b`.
pub(super) struct Add;

impl Member<2> for Add {
    const DEFINITION: Elementwise = Elementwise {
        name: "add",
        summary: "c = a + b",
        operands: &["a", "b"],
        output: "c",
        attributes: &[INPLACE, ROUNDING],
        flops: 1,
        exact: oracle::add,
        // f32: a correctly rounded sum lies within the half unit in the last place that q forgives
        // everyone. 16 bits: the f32 sum is off by at most u·|a + b|, and where that carries it
        // over a power of two it is a 16-bit number already; rounding it costs the forgiven half
        // unit and no more. So q ≤ |a + b| / (|a| + |b|) ≤ 1.
        limit: |dtype| if dtype == DType::F32 { 0.0 } else { 1.0 },
        // Sums to 128 are exact in bf16, whose integers are without gaps to 256.
        integers: 64,
        laws: &[laws::COMMUTES, laws::MINUS_ZERO_IS_NEUTRAL, ROWS_ARE_INDEPENDENT],
    };

    // One correctly rounded operation: the same bits on every path.
    const REPRODUCIBILITY: Reproducibility = Reproducibility::IsaInvariant;

    #[inline(always)]
    fn scalar([a, b]: [f32; 2]) -> f32 {
        a + b
    }

    #[inline(always)]
    fn vector<S: Simd>(simd: S, [a, b]: [S::F; 2]) -> S::F {
        simd.add(a, b)
    }
}
