//! What a kernel is.

use crate::{Call, KernelError};
use proofmark_terms::{Case, ErrorContract, Isa};
use std::fmt;

/// The reason why a kernel does not support a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

impl From<Unsupported> for String {
    fn from(reason: Unsupported) -> String {
        reason.0
    }
}

/// What the tuned constant of a parallel kernel counts. The constant is the size of one thread's
/// part: a larger case wakes a second thread.
#[derive(Clone, Copy, Debug)]
pub enum PartUnit {
    /// Elements: all that are written, or those of the largest operand that is read if it has more.
    Elements,
    /// Multiply-adds, which this function counts for a case.
    MultiplyAdds(fn(&Case) -> usize),
}

/// The times of calls on the clock of a device: sums over the calls whose events it kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTimes {
    /// Calls whose events were kept.
    pub calls: u32,
    /// The time of their kernels.
    pub kernel_ns: u64,
    /// The time of moving their operands to the device and back.
    pub copy_ns: u64,
}

/// An implementation of an op.
///
/// A kernel never allocates and keeps no state between calls: it works in the workspace it asked
/// for, on the threads it is given, on the instruction-set path it is told.
pub trait Kernel: Send + Sync + 'static {
    /// The idea it is named by: `scalar`, `simd`, `parallel`, `avx512_fused`.
    fn name(&self) -> &'static str;

    /// One line: how it works.
    fn summary(&self) -> &'static str;

    /// The paths it has. The best available one is chosen unless the user names another.
    fn isas(&self) -> &'static [Isa];

    /// Whether it uses more than one thread.
    fn is_parallel(&self) -> bool {
        false
    }

    /// Whether on one thread it is the same as another kernel of its op, so that it is left out of
    /// single-thread races. A parallel kernel with its own idea is no such twin.
    fn is_serial_twin(&self) -> bool {
        self.is_parallel()
    }

    /// What its tuned constant counts; `None` if it has no such constant.
    fn part_unit(&self) -> Option<PartUnit> {
        None
    }

    /// Whether it does this case on this path.
    ///
    /// # Errors
    /// The reason why not, as a fragment.
    fn supports(&self, case: &Case, isa: Isa) -> Result<(), Unsupported>;

    /// What it promises about its error.
    fn contract(&self, case: &Case) -> ErrorContract {
        let _ = case;
        ErrorContract::default()
    }

    /// Bytes of scratch memory a call needs, 64-byte aligned; its contents are rubbish.
    fn workspace_bytes(&self, case: &Case, isa: Isa, threads: usize) -> usize {
        let _ = (case, isa, threads);
        0
    }

    /// Bytes of packed weights; 0 if it packs none.
    fn prepared_bytes(&self, case: &Case, isa: Isa) -> usize {
        let _ = (case, isa);
        0
    }

    /// Packs the weights of `call` into `prepared`, once, outside the timed part.
    ///
    /// # Errors
    /// If the operands are not those of the signature.
    fn prepare(&self, call: &mut Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
        let _ = (call, prepared);
        Ok(())
    }

    /// Called before a call whose number of threads differs from the last one's, for kernels that
    /// do not use the pool's threads.
    fn set_threads(&self, threads: usize) {
        let _ = threads;
    }

    /// Whether results reach the outputs only by [`Kernel::settle`].
    fn settles(&self) -> bool {
        false
    }

    /// Copies the result of the last call into the outputs, outside the timed part. It is for
    /// kernels that return results in their own memory.
    ///
    /// # Errors
    /// If the operands are not those of the signature.
    fn settle(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        let _ = call;
        Ok(())
    }

    /// Whether operands are brought to its device before each call, by [`Kernel::place`].
    fn places(&self) -> bool {
        false
    }

    /// Brings the operands of a call to its device, outside the timed part. It is for kernels whose
    /// device has memory of its own; results come home by [`Kernel::settle`].
    ///
    /// # Errors
    /// If the operands are not those of the signature.
    fn place(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        let _ = call;
        Ok(())
    }

    /// The times of the calls since this was last asked, on the clock of its device. The host has
    /// no clock besides the one that times calls.
    fn device_times(&self) -> DeviceTimes {
        DeviceTimes::default()
    }

    /// Computes the op once. It is done when this returns: a device has nothing left in its queue.
    ///
    /// # Errors
    /// If the operands are not those of the signature.
    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError>;
}
