//! One element after the other: the kernel that does every case anywhere.
//!
//! Idea: widen to f32, which is exact, and round. Reads and writes every element once.

use super::{Way, run};
use crate::blocks::made::Made;
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, KernelError};

/// The kernel.
pub(crate) static SCALAR: Made = Made::scalar("one element at a time", run::<Elements>);

struct Elements;

impl Way for Elements {
    fn run<T: Stored, U: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
        let (x, mut y) = (call.inputs[0].rows::<T>()?, call.outputs[0].rows_mut::<U>()?);
        for i in 0..x.rows() {
            for (x, y) in x.row(i).iter().zip(y.row_mut(i)) {
                *y = U::narrow(x.widen());
            }
        }
        Ok(())
    }
}
