//! One product after the other: the kernel that does every case anywhere.
//!
//! Idea: the sum as written, in one chain of additions for each block of [`BLOCK`] terms, because
//! one long chain would lose digits. Reads 2 elements a term, 2 flops. Its time is the latency of
//! the addition, which is what lanes and chains are for.

use crate::blocks::made::{Made, typed};
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, KernelError};

/// Terms of the shorter sums: about the root of a usual row's length.
const BLOCK: usize = 64;

/// The kernel.
pub(crate) static SCALAR: Made = Made::scalar("one term at a time, sums of blocks of 64", |call| {
    typed!(call.case.dtype, run(call))
});

fn run<T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let (x, y) = (call.inputs[0].rows::<T>()?, call.inputs[1].rows::<T>()?);
    for (i, z) in call.outputs[0].slice_mut::<f32>()?.iter_mut().enumerate() {
        let of_block =
            |(x, y): (&[T], &[T])| x.iter().zip(y).map(|(x, y)| x.widen() * y.widen()).sum::<f32>();
        // A sum of f32 starts from -0.
        *z = 0.0 + x.row(i).chunks(BLOCK).zip(y.row(i).chunks(BLOCK)).map(of_block).sum::<f32>();
    }
    Ok(())
}
