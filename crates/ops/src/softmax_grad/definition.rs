//! The definition of softmax's gradient: axes, attributes and operands.

use crate::blocks::row::{Shape, axes};
use proofmark_contract::{Attribute, Axis, BadCase, Definition, Operand, Role, Signature};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug, Default)]
pub(crate) struct SoftmaxGrad;

const AXES: &[Axis] = &axes(1024);

impl Definition for SoftmaxGrad {
    fn name(&self) -> &'static str {
        "softmax_grad"
    }

    fn summary(&self) -> &'static str {
        "dx = y · (dy − Σ y·dy) along each row"
    }

    fn edges(&self) -> &'static [&'static str] {
        &[
            "NaN makes its row NaN; an infinity makes the sum of its row infinite or NaN",
            "the sign of a zero is free; subnormals count",
        ]
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        &[]
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32, DType::Bf16, DType::F16]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let operand = |name, role| Operand::new(name, role, case.dtype, &Shape::of(case).sizes);
        Ok(Signature::new(vec![
            operand("y", Role::Input),
            operand("dy", Role::Input),
            operand("dx", Role::Output),
        ]))
    }
}
