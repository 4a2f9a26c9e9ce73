//! The library's door: ops on plain slices, without the tool.
//!
//! Picks the kernel that tuning chose for the case, else the first that does it, on the best path
//! of this processor.

use crate::blocks::slices::with_tensors;
pub use crate::blocks::slices::{Slice, SliceMut};
use crate::tuning;
use proofmark_contract::{BadCase, Call, Entry, Kernel, KernelError, Signature, check_case};
use proofmark_schema::{Case, DType, Isa};
use proofmark_tensor::{AlignedBuffer, Pool, Recycler};
use std::cell::RefCell;

/// Why a call from a program was not made.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The case does not fit its op.
    #[error(transparent)]
    Case(#[from] BadCase),
    /// An operand has another length or element type than the case says.
    #[error("operand `{name}` is {got_dtype}[{got}], the case needs {need_dtype}[{need}]")]
    Operand {
        /// The operand.
        name: &'static str,
        /// What was passed.
        got_dtype: DType,
        /// Its length.
        got: usize,
        /// What the case needs.
        need_dtype: DType,
        /// The length it needs.
        need: usize,
    },
    /// The number of operands differs.
    #[error("{got} operands were passed, the case has {need}")]
    Count {
        /// How many were passed.
        got: usize,
        /// How many it has.
        need: usize,
    },
    /// No kernel does the case.
    #[error("no kernel of {0} does this case")]
    NoKernel(&'static str),
    /// The kernel refused.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

/// Computes `case` on slices, with up to `threads` threads of `pool`.
///
/// # Errors
/// If operands do not fit the case or no kernel does it.
pub fn run(
    entry: &Entry,
    case: &Case,
    inputs: &[Slice<'_>],
    outputs: &mut [SliceMut<'_>],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let signature = check_case(entry.op, case)?;
    check_operands(&signature, inputs, outputs)?;
    let (kernel, isa) = chosen(entry, case, threads, false)?;
    let workspace_bytes = kernel.workspace_bytes(case, isa, threads);
    let mut scratch = SCRATCH.with_borrow_mut(|kept| kept.take(workspace_bytes));
    let done = with_tensors(&signature, inputs, outputs, |inputs, outputs| {
        let workspace = &mut scratch.as_mut_slice()[..workspace_bytes];
        let threads = threads.max(1);
        let mut call = Call { case, isa, threads, pool, inputs, outputs, workspace, prepared: &[] };
        Ok(kernel.run(&mut call)?)
    });
    SCRATCH.with_borrow_mut(|kept| kept.give(scratch));
    done
}

/// Bytes of scratch memory that a thread keeps for its next call.
const KEPT_BYTES: usize = 64 << 20;

thread_local! {
    /// Scratch memory of calls from this thread.
    static SCRATCH: RefCell<Recycler> = const { RefCell::new(Recycler::new(KEPT_BYTES)) };
}

/// A kernel made ready for a case, for many calls: of ops whose preparation reads no operand.
#[derive(Debug)]
pub(crate) struct Planned {
    entry: &'static Entry,
    kernel: Ready,
    case: Case,
    threads: usize,
    workspace: AlignedBuffer,
    prepared: AlignedBuffer,
}

/// A kernel and its path.
struct Ready(&'static dyn Kernel, Isa);

impl std::fmt::Debug for Ready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.0.name(), self.1)
    }
}

impl Planned {
    /// Picks the kernel and lets it prepare itself.
    pub(crate) fn new(
        entry: &'static Entry,
        case: Case,
        pool: &Pool,
        threads: usize,
    ) -> Result<Planned, LibraryError> {
        check_case(entry.op, &case)?;
        let (kernel, isa) = chosen(entry, &case, threads, true)?;
        let mut workspace = AlignedBuffer::new(kernel.workspace_bytes(&case, isa, threads));
        let mut prepared = AlignedBuffer::new(kernel.prepared_bytes(&case, isa));
        let threads = threads.max(1);
        let mut call = Call {
            case: &case,
            isa,
            threads,
            pool,
            inputs: &[],
            outputs: &mut [],
            workspace: workspace.as_mut_slice(),
            prepared: &[],
        };
        kernel.prepare(&mut call, prepared.as_mut_slice())?;
        Ok(Planned { entry, kernel: Ready(kernel, isa), case, threads, workspace, prepared })
    }

    /// One call.
    pub(crate) fn run(
        &mut self,
        inputs: &[Slice<'_>],
        outputs: &mut [SliceMut<'_>],
        pool: &Pool,
    ) -> Result<(), LibraryError> {
        let signature = check_case(self.entry.op, &self.case)?;
        check_operands(&signature, inputs, outputs)?;
        with_tensors(&signature, inputs, outputs, |inputs, outputs| {
            let Ready(kernel, isa) = self.kernel;
            let (case, threads) = (&self.case, self.threads);
            let (workspace, prepared) = (self.workspace.as_mut_slice(), self.prepared.as_slice());
            let mut call = Call { case, isa, threads, pool, inputs, outputs, workspace, prepared };
            Ok(kernel.run(&mut call)?)
        })
    }
}

fn check_operands(
    signature: &Signature,
    inputs: &[Slice<'_>],
    outputs: &[SliceMut<'_>],
) -> Result<(), LibraryError> {
    let need = (signature.inputs().len(), signature.outputs().len());
    if (inputs.len(), outputs.len()) != need {
        let got = inputs.len() + outputs.len();
        return Err(LibraryError::Count { got, need: need.0 + need.1 });
    }
    let given = inputs
        .iter()
        .map(|slice| (slice.dtype(), slice.len()))
        .chain(outputs.iter().map(|slice| (slice.dtype(), slice.len())));
    for (operand, (got_dtype, got)) in signature.operands().iter().zip(given) {
        if (operand.dtype, operand.len()) != (got_dtype, got) {
            let (name, need_dtype, need) = (operand.name, operand.dtype, operand.len());
            return Err(LibraryError::Operand { name, got_dtype, got, need_dtype, need });
        }
    }
    Ok(())
}

/// The kernel that [`run`] takes for a case, and its path.
///
/// # Errors
/// If there is none.
pub fn choose(
    entry: &Entry,
    case: &Case,
    threads: usize,
) -> Result<(&'static dyn Kernel, Isa), LibraryError> {
    chosen(entry, case, threads, false)
}

fn chosen(
    entry: &Entry,
    case: &Case,
    threads: usize,
    may_prepare: bool,
) -> Result<(&'static dyn Kernel, Isa), LibraryError> {
    let fitting = entry.kernels.iter().filter(|kernel| threads > 1 || !kernel.is_serial_twin());
    let name = tuning::kernel(entry, case, threads);
    let tuned = entry.kernels.iter().filter(|kernel| Some(kernel.name()) == name);
    for &kernel in tuned.chain(fitting) {
        let paths = kernel.isas().iter().rev().copied();
        let usable = paths.filter(|&isa| proofmark_simd::available(isa));
        for isa in usable {
            let is_ready = may_prepare || kernel.prepared_bytes(case, isa) == 0;
            if is_ready && kernel.supports(case, isa).is_ok() {
                return Ok((kernel, isa));
            }
        }
    }
    Err(LibraryError::NoKernel(entry.op.name()))
}
