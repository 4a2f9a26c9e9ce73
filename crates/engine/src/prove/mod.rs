//! The second phase: contenders are proven before any of them is measured.

mod admit;
pub(crate) mod book;
mod portfolio;

pub(crate) use admit::Admission;
pub use book::ProofBook;
pub use portfolio::{Certified, ProveRequest};
