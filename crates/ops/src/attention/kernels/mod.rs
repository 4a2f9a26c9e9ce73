//! The kernels of attention.

mod amx;
mod amx_pass;
mod chunked;
mod parallel;
mod scalar;
mod simd;
mod strip;
mod strip_pass;
mod thin;
mod tiled;

pub(super) use amx::AMX;
pub(super) use chunked::CHUNKED;
pub(super) use parallel::PARALLEL;
pub(super) use scalar::SCALAR;
pub(super) use simd::SIMD;
