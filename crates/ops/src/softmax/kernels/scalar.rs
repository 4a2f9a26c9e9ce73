//! One element after the other: the kernel that does every case anywhere.
//!
//! Idea: three passes over each row (maximum, sum, result) with the standard library's
//! exponential, which is computed twice so that nothing but the result is stored. 2 exponentials
//! and 4 flops an element; reads x three times, writes y once. Exponentials are summed in blocks
//! of [`BLOCK`] and the blocks' sums then, for one long chain of additions would lose digits.

use crate::blocks::stored::Stored;
use crate::softmax::definition::Problem;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, DType, ErrorContract, Isa, Reproducibility};
use proofmark_tensor::bf16;

/// Terms of the shorter sums: about the root of a usual row's length.
const BLOCK: usize = 64;

/// The kernel.
#[derive(Debug)]
pub(crate) struct Scalar;

impl Kernel for Scalar {
    fn name(&self) -> &'static str {
        "scalar"
    }

    fn summary(&self) -> &'static str {
        "three passes over each row, one element at a time"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar]
    }

    fn supports(&self, case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        match case.dtype {
            DType::F32 | DType::Bf16 => Ok(()),
            other => Err(Unsupported(format!("element type {other} is not done"))),
        }
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        ErrorContract { reproducibility: Reproducibility::IsaInvariant, ..ErrorContract::default() }
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        match call.case.dtype {
            DType::F32 => run::<f32>(call),
            DType::Bf16 => run::<bf16>(call),
            other => Err(KernelError::Refused(format!("element type {other} is not done"))),
        }
    }
}

fn run<T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let mut y = call.outputs[0].rows_mut::<T>()?;
    if problem.is_in_place {
        for i in 0..y.rows() {
            let y = y.row_mut(i);
            let (max, factor) = shift_and_factor(y);
            for y in y {
                *y = T::narrow((y.widen() - max).exp() * factor);
            }
        }
        return Ok(());
    }
    let x = call.inputs[0].rows::<T>()?;
    for i in 0..x.rows() {
        let (max, factor) = shift_and_factor(x.row(i));
        for (x, y) in x.row(i).iter().zip(y.row_mut(i)) {
            *y = T::narrow((x.widen() - max).exp() * factor);
        }
    }
    Ok(())
}

/// The largest element, NaN passed over, and one over the sum, which keeps the NaN.
fn shift_and_factor<T: Stored>(x: &[T]) -> (f32, f32) {
    let max = x.iter().map(|x| x.widen()).fold(f32::NEG_INFINITY, f32::max);
    let of_block = |x: &[T]| x.iter().map(|x| (x.widen() - max).exp()).sum::<f32>();
    let sum: f32 = x.chunks(BLOCK).map(of_block).sum();
    (max, 1.0 / sum)
}
