//! The one number that says how files and messages are written.

/// Version of every file and message format; raised when an old reader could misread a new file.
pub const FORMAT_VERSION: u32 = 3;
