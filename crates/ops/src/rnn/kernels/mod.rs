//! The kernels of recurrent layers, and what they share.

mod blocked;
mod cell;
mod scalar;

pub(super) use blocked::{PARALLEL, PREPACKED, SIMD};
pub(super) use scalar::SCALAR;
