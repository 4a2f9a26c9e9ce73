//! Parts shared by two or more ops; never contenders themselves.

pub mod gemm;
pub mod math;
pub mod row;
pub mod slices;
pub mod stored;
