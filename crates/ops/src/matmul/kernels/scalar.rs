//! Three plain loops.
//!
//! Idea: the formula as it stands, one sum in f32 for each element, in the order of the terms.
//! Each term costs 2 flops and reads two elements; a column of B is walked with its row stride.
//! One accumulator, so the latency of one addition is the limit.

use super::super::definition::Shape;
use super::portion::{epilogue, typed_pair};
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_simd::Scalar as OneLane;
use proofmark_terms::{Case, Isa};

/// The kernel.
#[derive(Debug)]
pub(crate) struct Scalar;

impl Kernel for Scalar {
    fn name(&self) -> &'static str {
        "scalar"
    }

    fn summary(&self) -> &'static str {
        "three plain loops, one f32 sum for each element"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar]
    }

    fn supports(&self, _case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        Ok(())
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        typed_pair!(call.case, product(call))
    }
}

fn product<T: Stored, U: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let shape = Shape::of(call.case);
    let a = call.inputs[0].rows::<T>()?;
    let b = call.inputs[1].rows::<T>()?;
    let epilogue = epilogue::<T>(call)?;
    let mut c = call.outputs[0].rows_mut::<U>()?;
    for batch in 0..shape.batches {
        let first = if shape.is_shared { 0 } else { batch * shape.right_rows() };
        for row in batch * shape.m..(batch + 1) * shape.m {
            let terms = a.row(row);
            for (j, target) in c.row_mut(row).iter_mut().enumerate() {
                let mut sum = 0.0f32;
                for (p, value) in terms.iter().enumerate() {
                    let other =
                        if shape.is_transposed { b.row(first + j)[p] } else { b.row(first + p)[j] };
                    sum += value.widen() * other.widen();
                }
                epilogue.store(OneLane::new(), &[sum], j, std::slice::from_mut(target));
            }
        }
    }
    Ok(())
}
