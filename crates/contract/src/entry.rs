//! Registration: an op with its kernels, in one visible list.

use crate::Kernel;
#[cfg(feature = "judge")]
use crate::{Call, KernelError, Unsupported};
#[cfg(feature = "judge")]
use proofmark_terms::{Case, Isa};
use std::fmt;

/// A wrong kernel that the gate must refuse.
#[cfg(feature = "judge")]
#[derive(Clone, Copy)]
pub struct Mutant {
    /// Its name in reports.
    pub name: &'static str,
    /// What is wrong with it.
    pub flaw: &'static str,
    /// The kernel.
    pub kernel: &'static dyn Kernel,
}

#[cfg(feature = "judge")]
impl Mutant {
    /// A wrong kernel whose code only a worker has: one of an own op, or of another device.
    pub fn elsewhere(name: &'static str, flaw: &'static str) -> Mutant {
        Mutant { name, flaw, kernel: Box::leak(Box::new(Elsewhere(name))) }
    }
}

/// A kernel whose code only a worker has.
#[cfg(feature = "judge")]
struct Elsewhere(&'static str);

#[cfg(feature = "judge")]
impl Kernel for Elsewhere {
    fn name(&self) -> &'static str {
        self.0
    }

    fn summary(&self) -> &'static str {
        "its code is in a worker"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar]
    }

    fn supports(&self, _: &Case, _: Isa) -> Result<(), Unsupported> {
        Ok(())
    }

    fn run(&self, _: &mut Call<'_>) -> Result<(), KernelError> {
        Err(KernelError::Refused("it runs only in a worker".to_owned()))
    }
}

/// An op with everything that belongs to it; each op's folder makes one.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The definition.
    #[cfg(not(feature = "judge"))]
    pub op: &'static dyn crate::Definition,
    /// The definition, with what the judge knows of it.
    #[cfg(feature = "judge")]
    pub op: &'static dyn crate::Op,
    /// The kernels, best first; the last does every case.
    pub kernels: &'static [&'static dyn Kernel],
    /// Wrong kernels.
    #[cfg(feature = "judge")]
    pub mutants: &'static [Mutant],
    /// Its sweeps and sizes: the text of `suite.toml`.
    #[cfg(feature = "judge")]
    pub suite: &'static str,
}

impl Entry {
    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&'static dyn Kernel> {
        self.kernels.iter().copied().find(|kernel| kernel.name() == name)
    }

    /// The mutant of that name.
    #[cfg(feature = "judge")]
    pub fn mutant(&self, name: &str) -> Option<&'static Mutant> {
        self.mutants.iter().find(|mutant| mutant.name == name)
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({})", self.op.name())
    }
}

/// The op of that name in a list.
pub fn find(entries: &'static [&'static Entry], op: &str) -> Option<&'static Entry> {
    entries.iter().copied().find(|entry| entry.op.name() == op)
}
