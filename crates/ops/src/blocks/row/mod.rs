//! Parts of ops that treat each row alone: their kernels' frame, reductions, shapes and laws.

mod cut;
mod dot;
mod exponentials;
mod kernel;
#[cfg(feature = "judge")]
mod law;
mod reduce;
mod rms;
mod shape;
#[cfg(test)]
pub(crate) mod trial;
mod vectors;

pub(crate) use cut::cut;
pub use dot::{dot, squared_distance};
pub(crate) use exponentials::{max_and_sum, max_and_sum_scalar};
pub(crate) use kernel::{Part, RowKernel, RowOp};
#[cfg(feature = "judge")]
pub use law::ROWS_ARE_INDEPENDENT;
#[cfg(feature = "judge")]
pub(crate) use law::{ODD, ODD_IN_ROWS, columns_follow, moves, room, same_bits, shift_free};
pub use reduce::{max, max_or_nan, squared_deviations, sum, sum_of_squares};
pub(crate) use rms::Rms;
pub(crate) use shape::{Shape, axes, edge_cases};
pub(crate) use vectors::vectors;
