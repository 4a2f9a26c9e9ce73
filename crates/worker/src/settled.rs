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

    fn places(&self) -> bool {
        self.0.places()
    }

    fn place(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        self.0.place(call)
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        self.0.run(call)?;
        self.0.settle(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_tensor::Pool;
    use std::sync::Mutex;

    /// A kernel that writes down what is asked of it.
    struct Asked {
        settles: bool,
        log: Mutex<Vec<&'static str>>,
    }

    impl Asked {
        fn leaked(settles: bool) -> &'static Asked {
            Box::leak(Box::new(Asked { settles, log: Mutex::default() }))
        }

        fn note(&self, asked: &'static str) -> Result<(), KernelError> {
            self.log.lock().unwrap().push(asked);
            Ok(())
        }
    }

    impl Kernel for Asked {
        fn name(&self) -> &'static str {
            "asked"
        }

        fn summary(&self) -> &'static str {
            "writes down what is asked of it"
        }

        fn isas(&self) -> &'static [Isa] {
            &[Isa::Scalar]
        }

        fn supports(&self, _: &Case, _: Isa) -> Result<(), Unsupported> {
            Ok(())
        }

        fn run(&self, _: &mut Call<'_>) -> Result<(), KernelError> {
            self.note("run")
        }

        fn settles(&self) -> bool {
            self.settles
        }

        fn settle(&self, _: &mut Call<'_>) -> Result<(), KernelError> {
            self.note("settle")
        }
    }

    /// What two calls of a kernel ask, as T3 makes them.
    fn two_calls(kernel: &'static Asked) -> Vec<&'static str> {
        let case: Case = "add:f32[b=1,s=1,d=1]".parse().unwrap();
        let settled = in_every_call(kernel);
        let mut call = Call {
            case: &case,
            isa: Isa::Scalar,
            threads: 1,
            pool: &Pool::serial(),
            inputs: &[],
            outputs: &mut [],
            workspace: &mut [],
            prepared: &[],
        };
        settled.run(&mut call).unwrap();
        settled.run(&mut call).unwrap();
        kernel.log.lock().unwrap().clone()
    }

    #[test]
    fn a_kernel_that_settles_does_so_in_every_call() {
        assert_eq!(two_calls(Asked::leaked(true)), ["run", "settle", "run", "settle"]);
    }

    #[test]
    fn a_kernel_that_does_not_settle_is_called_as_it_is() {
        assert_eq!(two_calls(Asked::leaked(false)), ["run", "run"]);
    }
}
