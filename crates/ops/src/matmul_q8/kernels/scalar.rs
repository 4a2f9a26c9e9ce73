//! Plain loops, one weight at a time.
//!
//! Idea: the formula as it stands, each weight decoded where it is used. Per term 3 flops, 4 bytes
//! of x and 1 of weights; one accumulator.

use super::Inputs;
use crate::blocks::made::Made;
use proofmark_contract::{Call, KernelError};

/// The kernel.
pub(crate) static SCALAR: Made = Made::scalar("plain loops, one weight at a time", run);

fn run(call: &mut Call<'_>) -> Result<(), KernelError> {
    let inputs = Inputs::of(call)?;
    let (group, groups) = (inputs.problem.group, inputs.problem.k.div_ceil(inputs.problem.group));
    let mut y = call.outputs[0].rows_mut::<f32>()?;
    for i in 0..y.rows() {
        for j in 0..y.cols() {
            let mut sum = 0.0;
            let blocks = inputs.x.row(i).chunks(group).zip(inputs.codes.row(j).chunks(group));
            for (block, (x, codes)) in blocks.enumerate() {
                let scale = inputs.scales[j * groups + block];
                for (x, &code) in x.iter().zip(codes) {
                    sum += x * (f32::from(code) * scale);
                }
            }
            y.row_mut(i)[j] = sum;
        }
    }
    Ok(())
}
