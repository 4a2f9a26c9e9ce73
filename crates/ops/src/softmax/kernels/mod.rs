//! The kernels of softmax.

mod parallel;
mod scalar;
mod simd;

pub(super) use parallel::Parallel;
pub(super) use scalar::Scalar;
pub(super) use simd::Simd;
