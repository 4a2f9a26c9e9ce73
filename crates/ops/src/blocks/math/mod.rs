//! Elementary functions on vectors, each with a stated bound on its error.

mod activation;
mod exp;
mod normal;
mod sigmoid;
mod sin_cos;
mod tanh;
#[cfg(test)]
mod trial;

pub use activation::Activation;
pub(crate) use exp::exp2_flushed;
pub use exp::{EXP_MAX_ULP, exp};
pub use normal::{NORMAL_CDF_MAX_ULP, gelu, normal_cdf};
pub use sigmoid::{QUICK_SLOPE, SIGMOID_MAX_ULP, gelu_quick, gelu_tanh, sigmoid, silu};
pub use sin_cos::{SIN_COS_MAX_ERROR, sin_cos};
pub use tanh::{TANH_MAX_ULP, tanh};
