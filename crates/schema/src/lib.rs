//! The data that passes between crates or to a disk: nouns, units, ids, format versions.
//!
//! If it can be written to a file it is here; if it has a method that *does* something it is
//! in `contract`. A type enters only when two crates need it. What kernels need too is in `terms`,
//! and is found here as well.
#![forbid(unsafe_code)]

pub mod artefact;
pub mod conditions;
pub mod contender;
pub mod crash;
pub mod decision;
pub mod device;
pub mod finding;
pub mod imported;
pub mod isolation;
pub mod judge;
pub mod machine;
pub mod memory;
pub mod origin;
pub mod outcome;
pub mod plan;
pub mod precision;
pub mod probe;
pub mod program;
pub mod proof;
pub mod quantity;
pub mod race;
pub mod real;
pub mod record;
pub mod run_id;
pub mod submission;
pub mod timing;
pub mod version;
pub mod wire;
pub mod work;

pub use artefact::Artefact;
pub use contender::{
    CodeFile, ContenderId, Family, Lock, ParseContenderError, Receipt, is_name, is_peer_name,
};
pub use device::Device;
pub use isolation::{Isolation, Layer};
pub use memory::{Cache, Memory, Pages};
pub use outcome::Outcome;
pub use proofmark_terms::{
    AttrValue, Case, DType, ErrorContract, Isa, ParseCaseError, Reproducibility, Underflow, case,
    dtype, error_contract, isa,
};
pub use version::FORMAT_VERSION;
pub use work::Work;
