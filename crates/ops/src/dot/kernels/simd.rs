//! One vector of products after the other, one source for every instruction-set level.
//!
//! Idea: four chains of fused multiply-adds hide their latency (4 cycles, one a cycle as two loads
//! allow), then lanes are added in a fixed order. Reads 2 elements a term; 4 accumulators and 2
//! operands in registers.

use crate::blocks::made::{Made, typed};
use crate::blocks::row::dot;
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, KernelError};
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_terms::Isa;

/// The kernel.
pub(crate) static SIMD: Made =
    Made::simd("four chains of vectors", |call| typed!(call.case.dtype, run(call)));

fn run<T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let (x, y) = (call.inputs[0].rows::<T>()?, call.inputs[1].rows::<T>()?);
    for (i, z) in call.outputs[0].slice_mut::<f32>()?.iter_mut().enumerate() {
        *z = of_rows(call.isa, x.row(i), y.row(i));
    }
    Ok(())
}

/// The product of two rows on one path.
pub(in super::super) fn of_rows<T: Stored>(isa: Isa, x: &[T], y: &[T]) -> f32 {
    dispatch(isa, Product(x, y))
}

struct Product<'a, T>(&'a [T], &'a [T]);

impl<T: Stored> Body for Product<'_, T> {
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f32 {
        dot(simd, self.0, self.1)
    }
}
