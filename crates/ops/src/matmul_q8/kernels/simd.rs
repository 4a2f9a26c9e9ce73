//! Rows against rows in vectors; weights are decoded and scaled as they are loaded.
//!
//! Ideas: with few rows there is no packing and no copy of the weights in f32, so a product of one
//! row moves a byte and an eighth a term. A decoded vector serves up to 6 rows. Per vector of terms
//! 3 operations for a weight and one for each sum. Registers: AVX-512 6 × 4 sums, 4 weights, 1
//! activation. From 8 rows on a panel of weights is decoded once for all rows; for many rows it is
//! packed as well, and multiplied as in the product of f32 (see `blocks::gemm`).

use super::{Inputs, scratch};
use crate::blocks::made::Made;
use crate::blocks::scratch::elements_mut;
use proofmark_contract::{Call, KernelError};

/// The kernel.
pub(crate) static SIMD: Made = Made {
    workspace: |case, isa, _| scratch(case, isa) * size_of::<f32>(),
    ..Made::simd("weights decoded as they are loaded, or into panels for many rows", run)
};

fn run(call: &mut Call<'_>) -> Result<(), KernelError> {
    let inputs = Inputs::of(call)?;
    let output = call.outputs[0].rows_mut::<f32>()?;
    let count = scratch(call.case, call.isa);
    let scratch = elements_mut(call.workspace, count, "workspace")?;
    inputs.multiply(call.isa, 0..output.rows(), 0..output.cols(), output, scratch);
    Ok(())
}
