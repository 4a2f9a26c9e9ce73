//! The kernels of the family, each one generic body over a member's formula.

mod operands;
mod parallel;
mod scalar;
mod simd;

pub(super) use parallel::Parallel;
pub(super) use scalar::Scalar;
pub(super) use simd::Vector;

use super::members::Member;
use proofmark_contract::KernelError;
use proofmark_terms::{DType, ErrorContract, Reproducibility};

/// What every kernel promises: f32 arithmetic, and the bits the formula allows.
fn contract<M: Member<N>, const N: usize>() -> ErrorContract {
    let is_exact = M::DEFINITION.is_exact;
    // Levels with and without fused multiply-add differ in the last bits of other formulas.
    let class =
        if is_exact { Reproducibility::IsaInvariant } else { Reproducibility::ThreadInvariant };
    ErrorContract { reproducibility: class, ..ErrorContract::default() }
}

/// The answer to an element type that the definition does not have.
fn undefined(dtype: DType) -> Result<(), KernelError> {
    Err(KernelError::Refused(format!("elementwise ops do not do {dtype}")))
}
