//! The kernels of attention.

mod chunked;
mod parallel;
mod scalar;
mod simd;
mod strip;
mod strip_pass;
mod thin;
mod tiled;

pub(super) use chunked::Chunked;
pub(super) use parallel::Parallel;
pub(super) use scalar::Scalar;
pub(super) use simd::Simd;
