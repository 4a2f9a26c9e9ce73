//! The kernels of convolutions, and what they share.

mod im2col;
mod parallel;
mod planes;
mod scalar;
mod simd;
mod tiles;
mod winograd;

pub(super) use im2col::IM2COL;
pub(super) use parallel::PARALLEL;
pub(super) use scalar::SCALAR;
pub(super) use simd::SIMD;
pub(super) use winograd::WINOGRAD;
