//! What a case costs by definition, so that no contender can report a wrong rate.

use serde::{Deserialize, Serialize};

/// Arithmetic and traffic of one call, stated by the op's definition alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Floating-point or integer operations; a multiply-add counts two.
    pub flops: u64,
    /// Bytes that must be read at least once.
    pub bytes_read: u64,
    /// Bytes that must be written at least once.
    pub bytes_written: u64,
    /// Calls of exp, erf, sqrt and similar functions, apart from `flops`.
    pub transcendentals: u64,
}

impl Work {
    /// Least traffic in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes_read + self.bytes_written
    }
}
