//! One element after the other: the kernel that does every case anywhere.
//!
//! Idea: with `e = exp(−|x|)`, which cannot overflow, y is `x/(1+e)`, or `x·e/(1+e)` below 0.
//! Reads x once and writes y once, 8 bytes an f32 element; 1 exponential of the platform and 3
//! flops. Registers: x, e and 1.

use crate::blocks::stored::Stored;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, DType, ErrorContract, Isa, Reproducibility};
use proofmark_tensor::{bf16, f16};

/// The kernel.
#[derive(Debug)]
pub(crate) struct Scalar;

impl Kernel for Scalar {
    fn name(&self) -> &'static str {
        "scalar"
    }

    fn summary(&self) -> &'static str {
        "one element at a time"
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
    let x = call.inputs[0].rows::<T>()?;
    let mut y = call.outputs[0].rows_mut::<T>()?;
    for i in 0..x.rows() {
        for (x, y) in x.row(i).iter().zip(y.row_mut(i)) {
            *y = T::narrow(silu(x.widen()));
        }
    }
    Ok(())
}

fn silu(x: f32) -> f32 {
    let e = (-x.abs()).exp();
    (if x < 0.0 { x * e } else { x }) / (1.0 + e)
}
