//! One vector after the other, one source for every instruction-set level.
//!
//! Idea: the loads widen and the stores round, so nothing is left in between; dense operands are
//! one long row with one tail. Reads and writes every element once.

use super::{Way, run};
use crate::blocks::made::Made;
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, KernelError};
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::{Rows, RowsMut};
use proofmark_terms::Isa;

/// The kernel.
pub(crate) static SIMD: Made =
    Made::simd("one vector at a time, dense operands as one row", run::<Vectors>).exact();

struct Vectors;

impl Way for Vectors {
    fn run<T: Stored, U: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
        let (x, y) = (call.inputs[0].rows::<T>()?, call.outputs[0].rows_mut::<U>()?);
        rows(call.isa, x, y);
        Ok(())
    }
}

/// Every row of `x` on one path.
pub(super) fn rows<T: Stored, U: Stored>(isa: Isa, x: Rows<'_, T>, y: RowsMut<'_, U>) {
    dispatch(isa, CastRows { x, y });
}

struct CastRows<'a, T, U> {
    x: Rows<'a, T>,
    y: RowsMut<'a, U>,
}

impl<T: Stored, U: Stored> Body for CastRows<'_, T, U> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        if let (Some(x), Some(y)) = (self.x.as_slice(), self.y.as_mut_slice()) {
            return row(simd, x, y);
        }
        for i in 0..self.x.rows() {
            row(simd, self.x.row(i), self.y.row_mut(i));
        }
    }
}

#[inline(always)]
fn row<S: Simd, T: Stored, U: Stored>(simd: S, x: &[T], y: &mut [U]) {
    let mut x = x.chunks_exact(S::LANES);
    let mut y = y.chunks_exact_mut(S::LANES);
    for (x, y) in (&mut x).zip(&mut y) {
        U::store(simd, T::load(simd, x), y);
    }
    U::store_partial(simd, T::load_partial(simd, x.remainder(), 0.0), y.into_remainder());
}
