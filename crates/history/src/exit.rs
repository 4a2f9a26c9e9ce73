//! Exit codes, as the program `proofmark` has them.

/// All is well.
pub const PASS: u8 = 0;
/// What was asked cannot be done.
pub const USAGE: u8 = 2;
/// The history is damaged.
pub const INTEGRITY: u8 = 4;
/// The machine or the store does not do what is needed.
pub const ENVIRONMENT: u8 = 6;
