//! The definition of the logarithm of softmax: axes, attributes and operands.

use crate::blocks::row::{Shape, axes};
use proofmark_contract::{Attribute, Axis, BadCase, Definition, Operand, Role, Signature};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug, Default)]
pub(crate) struct LogSoftmax;

const AXES: &[Axis] = &axes(1024);

impl Definition for LogSoftmax {
    fn name(&self) -> &'static str {
        "log_softmax"
    }

    fn summary(&self) -> &'static str {
        "y = x − max x − ln Σ exp(x − max x) along each row"
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
        let shape = Shape::of(case).sizes;
        let operand = |name, role| Operand::new(name, role, case.dtype, &shape);
        Ok(Signature::new(vec![operand("x", Role::Input), operand("y", Role::Output)]))
    }
}
