//! The kernels of SiLU.

mod parallel;
mod scalar;
mod simd;

pub(super) use parallel::Parallel;
pub(super) use scalar::Scalar;
pub(super) use simd::Simd;
