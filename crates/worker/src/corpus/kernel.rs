//! The kernel that a specimen is: an honest one, with the specimen's deed around it.

use super::piece::Full;
use super::{Needs, Specimen};
use proofmark_contract::{Call, DeviceTimes, Entry, Kernel, KernelError, Unsupported};
use proofmark_schema::judge::Kind;
use proofmark_schema::{Case, DType, ErrorContract, Isa};
use std::sync::{Mutex, PoisonError};

/// Product of the axes from which on a case gets all the scratch memory that a specimen asks for
/// (the second is for ops with an axis `k`), and the bytes that a smaller case gets.
const LARGE: u64 = 1 << 14;
const LARGE_PRODUCT: u64 = 1 << 18;
const LITTLE: usize = 1 << 16;

/// What a specimen does in a call.
pub(super) type Run = Box<dyn FnMut(&mut Full, &mut Call<'_>) -> Result<(), KernelError> + Send>;

/// The times that a specimen reports in place of its device's clock.
type Times = fn(&Full) -> DeviceTimes;

/// What a specimen promises on a case, given the contract of the kernel that it wraps.
type Contract = fn(ErrorContract, &Case) -> ErrorContract;

/// What a specimen does, and what it reports about itself.
pub(super) struct Deed {
    run: Run,
    settle: Option<Run>,
    /// Bytes of scratch memory beyond those of the kernel that it wraps.
    workspace: usize,
    contract: Contract,
    times: Times,
}

impl Deed {
    /// A deed that is all in the call.
    pub(super) fn new(
        run: impl FnMut(&mut Full, &mut Call<'_>) -> Result<(), KernelError> + Send + 'static,
    ) -> Deed {
        Deed {
            run: Box::new(run),
            settle: None,
            workspace: 0,
            contract: |contract, _| contract,
            times: |full| full.kernel.device_times(),
        }
    }

    /// The same, with something to do after the clock has stopped.
    pub(super) fn settling(
        mut self,
        settle: impl FnMut(&mut Full, &mut Call<'_>) -> Result<(), KernelError> + Send + 'static,
    ) -> Deed {
        self.settle = Some(Box::new(settle));
        self
    }

    /// The same, with more scratch memory, which stands after that of the kernel.
    pub(super) fn with_workspace(mut self, bytes: usize) -> Deed {
        self.workspace = bytes;
        self
    }

    /// The same, with other times of a device.
    pub(super) fn timed(mut self, times: Times) -> Deed {
        self.times = times;
        self
    }

    /// The same, with another contract.
    pub(super) fn promising(mut self, contract: Contract) -> Deed {
        self.contract = contract;
        self
    }
}

/// A specimen that is loaded for a case.
pub(super) struct Planted {
    specimen: &'static Specimen,
    kernel: &'static dyn Kernel,
    workspace: usize,
    contract: Contract,
    state: Mutex<State>,
}

struct State {
    full: Full,
    deed: Deed,
}

impl Planted {
    /// The specimen around a kernel of the op; it stays for the life of the process.
    pub(super) fn load(
        specimen: &'static Specimen,
        entry: &'static Entry,
        kernel: &'static dyn Kernel,
        case: &Case,
        isa: Isa,
    ) -> &'static dyn Kernel {
        let deed = (specimen.make)();
        let (workspace, contract) = (deed.workspace, deed.contract);
        let full = Full { kernel, entry, isa, case: case.clone() };
        let state = Mutex::new(State { full, deed });
        Box::leak(Box::new(Planted { specimen, kernel, workspace, contract, state }))
    }
}

/// Why a specimen is not planted on a case, if it is not.
pub(super) fn unsupported(specimen: &Specimen, case: &Case) -> Result<(), Unsupported> {
    let no = |reason: &str| Err(Unsupported(reason.to_owned()));
    match specimen.needs {
        _ if !specimen.is_for(&case.op) => no("it is not planted on this op"),
        Needs::Nothing => Ok(()),
        Needs::F32 | Needs::PlainF32 if case.dtype != DType::F32 => no("it computes in f32"),
        Needs::PlainF32 if !case.attrs.is_empty() => no("it does no attributes"),
        Needs::PlainF32 if case.size("b").is_some_and(|b| b > 1) => no("it does one batch"),
        Needs::F32 | Needs::PlainF32 => Ok(()),
        Needs::Amx if proofmark_simd::state::request_amx() => Ok(()),
        Needs::Amx => no("this machine has no AMX"),
        Needs::X86 if cfg!(target_arch = "x86_64") => Ok(()),
        Needs::X86 => no("it is made of instructions of x86-64"),
    }
}

impl Kernel for Planted {
    fn name(&self) -> &'static str {
        self.specimen.name
    }

    fn summary(&self) -> &'static str {
        self.specimen.what
    }

    fn isas(&self) -> &'static [Isa] {
        self.kernel.isas()
    }

    fn is_parallel(&self) -> bool {
        self.specimen.threads > 1
    }

    fn supports(&self, case: &Case, isa: Isa) -> Result<(), Unsupported> {
        unsupported(self.specimen, case)?;
        self.kernel.supports(case, isa)
    }

    fn contract(&self, case: &Case) -> ErrorContract {
        (self.contract)(self.kernel.contract(case), case)
    }

    fn workspace_bytes(&self, case: &Case, isa: Isa, threads: usize) -> usize {
        let inner = self.kernel.workspace_bytes(case, isa, threads);
        // Small cases get less, because all of it is written anew before each run of a proof.
        let large = if case.size("k").is_some() { LARGE_PRODUCT } else { LARGE };
        let is_small = case.axes.iter().map(|(_, size)| size).product::<u64>() < large;
        match self.workspace {
            0 => inner,
            more if is_small => inner.next_multiple_of(64) + more.min(LITTLE),
            more => inner.next_multiple_of(64) + more,
        }
    }

    fn device_times(&self) -> DeviceTimes {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.deed.times)(&state.full)
    }

    fn prepared_bytes(&self, case: &Case, isa: Isa) -> usize {
        self.kernel.prepared_bytes(case, isa)
    }

    fn prepare(&self, call: &mut Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
        self.kernel.prepare(call, prepared)
    }

    fn settle(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut state.deed.settle {
            Some(settle) if !call.inputs.is_empty() => settle(&mut state.full, call),
            _ => self.kernel.settle(call),
        }
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // A call in place overwrites its inputs, so no result can be remembered or left standing. A
        // cheat that must pass the gate computes there.
        if call.inputs.is_empty() && matches!(self.specimen.kind, Kind::Cheat { .. }) {
            return state.full.run(call);
        }
        (state.deed.run)(&mut state.full, call)
    }
}
