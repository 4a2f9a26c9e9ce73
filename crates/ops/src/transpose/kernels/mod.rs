//! The kernels of the transpose.

mod parallel;
mod scalar;
mod simd;

pub(super) use parallel::PARALLEL;
pub(super) use scalar::SCALAR;
pub(super) use simd::SIMD;
