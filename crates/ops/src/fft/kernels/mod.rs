//! The kernels of the Fourier transform.

mod along;
mod butterfly;
mod line;
mod memory;
mod parallel;
mod pass;
mod plan;
mod registers;
mod scalar;
mod simd;
mod stage;
mod tables;
mod whole;

pub(super) use parallel::PARALLEL;
pub(super) use scalar::SCALAR;
pub(super) use simd::SIMD;
