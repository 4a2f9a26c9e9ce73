//! The kernels of the change of element type.

mod parallel;
mod scalar;
mod simd;

pub(super) use parallel::PARALLEL;
pub(super) use scalar::SCALAR;
pub(super) use simd::SIMD;

use super::definition::target;
use crate::blocks::made::typed;
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, KernelError};

/// What a kernel does from one type to another.
trait Way {
    /// Does a call.
    fn run<T: Stored, U: Stored>(call: &mut Call<'_>) -> Result<(), KernelError>;
}

/// Does a call from the types that its case names.
fn run<W: Way>(call: &mut Call<'_>) -> Result<(), KernelError> {
    typed!(call.case.dtype, from::<W>(call))
}

fn from<W: Way, T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    typed!(target(call.case), to::<W, T>(call))
}

fn to<W: Way, T: Stored, U: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    W::run::<T, U>(call)
}
