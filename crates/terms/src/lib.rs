//! The terms that kernels and records share: element types, instruction sets, cases, error
//! contracts.
//!
//! A kernel library needs these and nothing else of the harness, so this crate depends on nothing.
//! With the feature `serde` they can be part of records.
#![forbid(unsafe_code)]

pub mod case;
pub mod dtype;
pub mod error_contract;
pub mod isa;

pub use case::{AttrValue, Case, ParseCaseError};
pub use dtype::DType;
pub use error_contract::{ErrorContract, Reproducibility, Underflow};
pub use isa::Isa;

/// The sources of the terms that cross between processes, so that two programs can compare a hash
/// of what they must agree on.
#[cfg(feature = "serde")]
pub const SOURCES: [&[u8]; 3] =
    [include_bytes!("case.rs"), include_bytes!("dtype.rs"), include_bytes!("error_contract.rs")];

/// The most operands that an op may have.
pub const MAX_OPERANDS: usize = 24;
