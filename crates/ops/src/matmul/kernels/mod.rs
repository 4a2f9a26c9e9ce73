//! The kernels of matmul, and the driver that the blocked ones share.

mod blocked;
pub(super) mod parallel;
pub(super) mod prepacked;
pub(super) mod scalar;
pub(super) mod simd;
