//! A kernel that brings its result home in every call, within the clock.
//!
//! A kernel that returns results in its own memory settles once, after a batch. Where every call
//! has operands of its own and any of them may be checked (T3), each must hold its result when the
//! call returns.

use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, ErrorContract, Isa};

/// The kernel, with a settle after each call.
struct SettledCalls(&'static dyn Kernel);

/// Wraps a kernel that settles; any other is returned as it is.
pub(crate) fn in_every_call(kernel: &'static dyn Kernel) -> &'static dyn Kernel {
    match kernel.settles() {
        true => Box::leak(Box::new(SettledCalls(kernel))),
        false => kernel,
    }
}

impl Kernel for SettledCalls {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn summary(&self) -> &'static str {
        self.0.summary()
    }

    fn isas(&self) -> &'static [Isa] {
        self.0.isas()
    }

    fn is_parallel(&self) -> bool {
        self.0.is_parallel()
    }

    fn supports(&self, case: &Case, isa: Isa) -> Result<(), Unsupported> {
        self.0.supports(case, isa)
    }

    fn contract(&self, case: &Case) -> ErrorContract {
        self.0.contract(case)
    }

    fn workspace_bytes(&self, case: &Case, isa: Isa, threads: usize) -> usize {
        self.0.workspace_bytes(case, isa, threads)
    }

    fn prepared_bytes(&self, case: &Case, isa: Isa) -> usize {
        self.0.prepared_bytes(case, isa)
    }

    fn prepare(&self, call: &mut Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
        self.0.prepare(call, prepared)
    }

    fn set_threads(&self, threads: usize) {
        self.0.set_threads(threads);
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        self.0.run(call)?;
        self.0.settle(call)
    }
}
