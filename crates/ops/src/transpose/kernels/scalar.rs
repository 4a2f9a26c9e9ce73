//! One element after the other, in the order of y: the kernel that does every case anywhere.
//!
//! Idea: writes run along rows, reads down columns. Every element is read and written once, but
//! a cache line of x serves one element before the next row's is wanted.

use crate::blocks::made::{Made, typed};
use crate::blocks::stored::Stored;
use crate::transpose::definition::Problem;
use proofmark_contract::{Call, KernelError};

/// The kernel.
pub(crate) static SCALAR: Made = Made::scalar("one element at a time, in the order of y", |call| {
    typed!(call.case.dtype, run(call))
});

fn run<T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let Problem { m, n, .. } = Problem::of(call.case);
    let (x, mut y) = (call.inputs[0].rows::<T>()?, call.outputs[0].rows_mut::<T>()?);
    for row in 0..y.rows() {
        let (plane, j) = (row / n, row % n);
        for (i, y) in y.row_mut(row).iter_mut().enumerate() {
            *y = x.row(plane * m + i)[j];
        }
    }
    Ok(())
}
