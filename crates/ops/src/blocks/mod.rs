//! Parts shared by two or more ops; never contenders themselves.

pub(crate) mod bytes;
mod fp8;
pub mod gemm;
pub(crate) mod made;
pub mod math;
pub(crate) mod operands;
pub(crate) mod quantise;
pub mod row;
pub(crate) mod scaled;
pub mod scratch;
pub mod stored;
pub(crate) mod tuned;
