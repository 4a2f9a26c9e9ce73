//! The kernels of products of bytes, and what they share.

mod amx;
mod byte_dot;
mod parallel;
mod scalar;
mod simd;

pub(super) use amx::Amx;
pub(super) use byte_dot::BYTE_DOT;
pub(super) use parallel::PARALLEL;
pub(super) use scalar::SCALAR;
pub(super) use simd::SIMD;

use super::definition::Problem;
use crate::blocks::bytes::{RowProducts, Sums};
use proofmark_contract::{Call, KernelError};
use proofmark_simd::{dispatch, dispatch_byte_dot, has_byte_dot};
use proofmark_tensor::{Rows, SharedRows, Tensor};
use proofmark_terms::{ErrorContract, Isa, Reproducibility};
use std::ops::Range;

/// What every kernel promises: sums are exact and scaled in one order.
fn contract() -> ErrorContract {
    ErrorContract { reproducibility: Reproducibility::IsaInvariant, ..ErrorContract::default() }
}

/// The operands of a call; blocks of the output are taken from it.
#[derive(Clone, Copy)]
struct Operands<'a> {
    left: Rows<'a, i8>,
    right: Rows<'a, i8>,
    output: Output<'a>,
}

#[derive(Clone, Copy)]
enum Output<'a> {
    Raw(SharedRows<'a, i32>),
    Scaled { output: SharedRows<'a, f32>, left: &'a [f32], right: &'a [f32] },
}

impl<'a> Operands<'a> {
    fn of(
        problem: &Problem,
        inputs: &'a [Tensor],
        outputs: &'a mut [Tensor],
    ) -> Result<Operands<'a>, KernelError> {
        let Problem { m, n, k, is_raw } = *problem;
        let (left, right) = (inputs[0].rows::<i8>()?, inputs[1].rows::<i8>()?);
        let mut fits = (left.rows(), left.cols(), right.rows(), right.cols()) == (m, k, n, k);
        let output = if is_raw {
            let output = outputs[0].rows_mut::<i32>()?;
            fits &= (output.rows(), output.cols()) == (m, n);
            // SAFETY: the view is not used again; blocks are taken from the handle.
            Output::Raw(unsafe { output.share() })
        } else {
            let output = outputs[0].rows_mut::<f32>()?;
            let (left, right) = (inputs[2].slice::<f32>()?, inputs[3].slice::<f32>()?);
            fits &= (output.rows(), output.cols()) == (m, n);
            fits &= (left.len(), right.len()) == (m, n);
            // SAFETY: as above.
            Output::Scaled { output: unsafe { output.share() }, left, right }
        };
        if fits {
            return Ok(Operands { left, right, output });
        }
        Err(KernelError::Refused("operands do not have the shapes of the case".to_owned()))
    }

    /// A block of the output.
    ///
    /// # Safety
    /// No other block in use at the same time shares an element with this one.
    unsafe fn block(&self, rows: Range<usize>, columns: Range<usize>) -> Sums<'a> {
        // SAFETY: the caller keeps blocks apart.
        unsafe {
            match self.output {
                Output::Raw(output) => Sums::Raw(output.block_mut(rows, columns)),
                Output::Scaled { output, left, right } => Sums::Scaled {
                    output: output.block_mut(rows.clone(), columns.clone()),
                    left: &left[rows],
                    right: &right[columns],
                },
            }
        }
    }

    /// Computes a block from rows against rows, by the instruction for bytes or without.
    ///
    /// # Safety
    /// As for [`Operands::block`].
    unsafe fn multiply(&self, isa: Isa, by_bytes: bool, rows: Range<usize>, columns: Range<usize>) {
        if rows.is_empty() || columns.is_empty() {
            return;
        }
        let (left, right) = (self.left.range(rows.clone()), self.right.range(columns.clone()));
        // SAFETY: the caller's promise.
        let sums = unsafe { self.block(rows, columns) };
        if by_bytes && has_byte_dot(isa) {
            dispatch_byte_dot(isa, RowProducts::<true> { left, right, sums });
        } else {
            dispatch(isa, RowProducts::<false> { left, right, sums });
        }
    }
}

/// Computes a whole case on this thread.
fn whole(call: &mut Call<'_>, by_bytes: bool) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let operands = Operands::of(&problem, call.inputs, call.outputs)?;
    // SAFETY: there is one block.
    unsafe { operands.multiply(call.isa, by_bytes, 0..problem.m, 0..problem.n) };
    Ok(())
}
