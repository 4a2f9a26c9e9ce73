//! Rows against rows in vectors; weights are decoded and scaled as they are loaded.
//!
//! Idea: no packing and no copy of the weights in f32, so a product of one row moves a byte and an
//! eighth a term. A decoded vector serves up to 6 rows. Per vector of terms 3 operations for a
//! weight and one for each sum. Registers: AVX-512 6 × 4 sums, 4 weights, 1 activation.

use super::Inputs;
use crate::blocks::made::Made;
use proofmark_contract::{Call, KernelError};

/// The kernel.
pub(crate) static SIMD: Made =
    Made::simd("rows against rows in vectors, weights decoded as they are loaded", run);

fn run(call: &mut Call<'_>) -> Result<(), KernelError> {
    let inputs = Inputs::of(call)?;
    let output = call.outputs[0].rows_mut::<f32>()?;
    inputs.multiply(call.isa, 0..output.rows(), 0..output.cols(), output);
    Ok(())
}
