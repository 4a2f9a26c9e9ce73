//! The kernels of matmul, and what they share.

pub(super) mod amx;
mod blocked;
pub(super) mod parallel;
mod portion;
pub(super) mod prepacked;
pub(super) mod scalar;
pub(super) mod simd;
