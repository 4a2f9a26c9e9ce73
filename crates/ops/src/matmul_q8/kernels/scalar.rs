//! Plain loops, one weight at a time.
//!
//! Idea: the formula as it stands, each weight decoded where it is used. Per term 3 flops, 4 bytes
//! of x and 1 of weights; one accumulator.

use super::Inputs;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, ErrorContract, Isa};

/// The kernel.
#[derive(Debug)]
pub(crate) struct Scalar;

impl Kernel for Scalar {
    fn name(&self) -> &'static str {
        "scalar"
    }

    fn summary(&self) -> &'static str {
        "plain loops, one weight at a time"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar]
    }

    fn supports(&self, _case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        Ok(())
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        super::contract()
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        let inputs = Inputs::of(call)?;
        let (group, groups) =
            (inputs.problem.group, inputs.problem.k.div_ceil(inputs.problem.group));
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
}
