//! A peer that is ready for a case, as a kernel.

use crate::Ready;
use proofmark_contract::{Call, DeviceTimes, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, ErrorContract, Isa};

/// A peer behind the interface of kernels.
pub(crate) struct PeerKernel {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) contract: ErrorContract,
    pub(crate) ready: Ready,
}

// SAFETY: a worker loads and calls a kernel on one thread, the one that serves; a peer's handles
// never leave it. Threads of the library are its own business.
unsafe impl Send for PeerKernel {}
// SAFETY: as above.
unsafe impl Sync for PeerKernel {}

impl Kernel for PeerKernel {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    /// A library chooses its own path; its receipt says which.
    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar]
    }

    fn is_parallel(&self) -> bool {
        self.ready.set_threads.is_some()
    }

    fn supports(&self, _: &Case, _: Isa) -> Result<(), Unsupported> {
        Ok(())
    }

    fn contract(&self, _: &Case) -> ErrorContract {
        self.contract
    }

    fn workspace_bytes(&self, _: &Case, _: Isa, threads: usize) -> usize {
        self.ready.memory.workspace_bytes.as_ref().map_or(0, |bytes| bytes(threads))
    }

    fn prepared_bytes(&self, _: &Case, _: Isa) -> usize {
        self.ready.memory.packing.as_ref().map_or(0, |packing| packing.bytes)
    }

    fn prepare(&self, call: &mut Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
        self.ready.memory.packing.as_ref().map_or(Ok(()), |packing| (packing.pack)(call, prepared))
    }

    fn set_threads(&self, threads: usize) {
        if let Some(set_threads) = &self.ready.set_threads {
            set_threads(threads);
        }
    }

    fn device_times(&self) -> DeviceTimes {
        self.ready.device_times.as_ref().map_or_else(DeviceTimes::default, |times| times())
    }

    fn places(&self) -> bool {
        self.ready.place.is_some()
    }

    fn place(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        self.ready.place.as_ref().map_or(Ok(()), |place| place(call))
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        (self.ready.run)(call)
    }

    fn settles(&self) -> bool {
        self.ready.settle.is_some() && !self.ready.receipt.memory.is_empty()
    }

    fn settle(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        self.ready.settle.as_ref().map_or(Ok(()), |settle| settle(call))
    }
}
