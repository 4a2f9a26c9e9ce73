//! Elementary functions on vectors, each with a stated bound on its error.

mod exp;

pub use exp::{EXP_MAX_ULP, exp};
