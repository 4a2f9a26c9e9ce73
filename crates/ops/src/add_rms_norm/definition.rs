//! The definition of the normalised sum: axes, attributes and operands.

use crate::blocks::row::{Shape, axes};
use crate::rms_norm::definition::ATTRIBUTES;
use proofmark_contract::{Attribute, Axis, BadCase, Definition, Operand, Role, Signature};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug, Default)]
pub(crate) struct AddRmsNorm;

const AXES: &[Axis] = &axes(4096);

impl Definition for AddRmsNorm {
    fn name(&self) -> &'static str {
        "add_rms_norm"
    }

    fn summary(&self) -> &'static str {
        "sum = x + residual; y = sum · w / √(mean(sum²) + eps) along each row"
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        ATTRIBUTES
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32, DType::Bf16, DType::F16]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let shape = Shape::of(case).sizes;
        Ok(Signature::new(vec![
            Operand::new("x", Role::Input, case.dtype, &shape),
            Operand::new("residual", Role::Input, case.dtype, &shape),
            Operand::new("w", Role::Weight, case.dtype, &shape[2..]).dense(),
            Operand::new("sum", Role::Output, case.dtype, &shape),
            Operand::new("y", Role::Output, case.dtype, &shape),
        ]))
    }
}
