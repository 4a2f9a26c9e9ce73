//! Worker programs that are kept, so that they can be run again.

use crate::ContenderId;
use serde::{Deserialize, Serialize};

/// A worker program by its content, and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artefact {
    /// Format version that it stated when it greeted.
    pub format: u32,
    /// SHA-256 of the program, in hexadecimal: what `sha256sum` prints.
    pub sha256: String,
    /// Length of the program.
    pub bytes: u64,
    /// Arguments that make it a worker.
    pub args: Vec<String>,
    /// The commit it was built from, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The command that built it from the commit, where that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub build: Vec<String>,
    /// The compiler, as the program itself states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rustc: Option<String>,
    /// The contender that is meant where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contender: Option<ContenderId>,
}
