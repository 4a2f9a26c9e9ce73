//! One element after the other: the kernel that does every case anywhere.
//!
//! Idea: the formula as written, two passes over each row. Reads x twice and w once a row,
//! writes y once; 4 flops an element. Squares are summed in blocks of [`BLOCK`] and the blocks'
//! sums then, for one long chain of additions would lose digits.

use crate::blocks::stored::Stored;
use crate::rms_norm::definition::Problem;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, DType, ErrorContract, Isa, Reproducibility};
use proofmark_tensor::{bf16, f16};

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
        "two passes over each row, one element at a time"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar]
    }

    fn supports(&self, case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        match case.dtype {
            DType::F32 | DType::Bf16 | DType::F16 => Ok(()),
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
            DType::F16 => run::<f16>(call),
            other => Err(KernelError::Refused(format!("element type {other} is not done"))),
        }
    }
}

fn run<T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let eps = problem.eps as f32;
    let one = if problem.is_gemma { 1.0 } else { 0.0 };
    let x = call.inputs[0].rows::<T>()?;
    let w = call.inputs[1].rows::<T>()?.row(0);
    let mut y = call.outputs[0].rows_mut::<T>()?;
    for i in 0..x.rows() {
        let (x, y) = (x.row(i), y.row_mut(i));
        let of_block = |x: &[T]| x.iter().map(|x| x.widen() * x.widen()).sum::<f32>();
        let squares: f32 = x.chunks(BLOCK).map(of_block).sum();
        let r = 1.0 / (squares / x.len() as f32 + eps).sqrt();
        for ((x, w), y) in x.iter().zip(w).zip(y) {
            *y = T::narrow(x.widen() * r * (w.widen() + one));
        }
    }
    Ok(())
}
