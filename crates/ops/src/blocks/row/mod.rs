//! Parts of ops that treat each row alone: reductions over a row, and the law such ops obey.

mod law;
mod reduce;
#[cfg(test)]
pub(crate) mod trial;

pub use law::ROWS_ARE_INDEPENDENT;
pub use reduce::{max, sum, sum_of_squares};
