//! What one contender may do beyond computing.

use std::path::PathBuf;

/// What one contender may do beyond computing. The default is what a plain shared library needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permit {
    /// Files and folders that it may read, besides the program and the system's libraries.
    pub reads: Vec<PathBuf>,
    /// It compiles machine code while it runs and executes it.
    pub has_jit: bool,
    /// It is an interpreter that opens thousands of files. Files that it may not read are refused
    /// and not reported.
    pub is_interpreter: bool,
    /// It writes files that it reads again; it gets a folder for them.
    pub needs_scratch: bool,
    /// It starts compilers, which work in that folder.
    pub has_compiler: bool,
}

impl Permit {
    /// Adds what another permit allows.
    pub fn join(&mut self, other: &Permit) {
        self.reads.extend(other.reads.iter().cloned());
        self.has_jit |= other.has_jit;
        self.is_interpreter |= other.is_interpreter;
        self.needs_scratch |= other.needs_scratch;
        self.has_compiler |= other.has_compiler;
    }
}
