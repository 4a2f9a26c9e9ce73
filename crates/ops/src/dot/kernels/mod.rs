//! The kernels of the product of two vectors.

mod parallel;
mod scalar;
mod simd;

pub(super) use parallel::PARALLEL;
pub(super) use scalar::SCALAR;
pub(super) use simd::{SIMD, of_rows};
