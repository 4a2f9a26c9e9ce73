//! What a mutant is made of: a name, the element types it does, and a wrong function.

use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, DType, Isa};

/// A wrong kernel, for the gate to refuse.
pub(crate) struct Flawed {
    /// Its name.
    pub(crate) name: &'static str,
    /// The element types it does.
    pub(crate) dtypes: &'static [DType],
    /// The wrong computation.
    pub(crate) run: fn(&mut Call<'_>) -> Result<(), KernelError>,
}

impl Kernel for Flawed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        "wrong on purpose"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar]
    }

    fn supports(&self, case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        if self.dtypes.contains(&case.dtype) {
            return Ok(());
        }
        Err(Unsupported(format!("this mutant does not do {}", case.dtype)))
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        (self.run)(call)
    }
}
