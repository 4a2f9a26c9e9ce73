//! The library's door: what all ops share when a program calls them without the tool.
//!
//! Every op has the same shape of call: a [`Context`], then what is read, then what is written.
//! Operands are slices or [`Mat`] and [`MatMut`] views, whose rows may be padded. What else an op
//! can do is in its `Options`.
//!
//! The first call with given sizes and options chooses the kernel that tuning found best, else the
//! first that computes them, on the best path of this processor. Later calls from the same thread
//! with the same sizes and options find that choice again and allocate nothing.

mod context;
mod error;
mod plan;
mod request;
mod view;

pub(crate) use crate::blocks::operands::{Input, Output};
pub use context::Context;
pub use error::Error;
pub(crate) use plan::{chosen, short_path};
pub(crate) use request::{Chosen, Given, Request};
pub use view::{Mat, MatMut};

use proofmark_contract::{Entry, Kernel};
use proofmark_terms::{Case, Isa};

/// The kernel that a call of this case takes, and its path.
///
/// # Errors
/// If no kernel computes the case.
pub fn choose(
    entry: &Entry,
    case: &Case,
    threads: usize,
) -> Result<(&'static dyn Kernel, Isa), Error> {
    chosen(entry, case, threads, false)
}

#[cfg(test)]
mod tests;
