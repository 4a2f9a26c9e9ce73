//! The definition of layer normalisation's gradient: axes, attributes and operands.

use crate::blocks::row::{Shape, axes};
use crate::layer_norm::definition::ATTRIBUTES;
pub(super) use crate::layer_norm::definition::Problem;
use proofmark_contract::{Attribute, Axis, BadCase, Definition, Operand, Role, Signature};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug, Default)]
pub(crate) struct LayerNormGrad;

const AXES: &[Axis] = &axes(1024);

impl Definition for LayerNormGrad {
    fn name(&self) -> &'static str {
        "layer_norm_grad"
    }

    fn summary(&self) -> &'static str {
        "dx, dgamma, dbeta of y = (x − mean x) · gamma / √(variance of x + eps) + beta"
    }

    fn edges(&self) -> &'static [&'static str] {
        &[
            "NaN makes its row of dx and its columns of dgamma and dbeta NaN, in x all of dgamma",
            "an infinity in x does the same; of one in dy or gamma nothing is promised",
            "without rows dgamma and dbeta are 0; the sign of a zero is free",
        ]
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
        let operand = |name, role, shape: &[usize]| Operand::new(name, role, case.dtype, shape);
        Ok(Signature::new(vec![
            operand("x", Role::Input, &shape),
            operand("gamma", Role::Weight, &shape[2..]).dense(),
            operand("dy", Role::Input, &shape),
            operand("dx", Role::Output, &shape),
            operand("dgamma", Role::Output, &shape[2..]).dense(),
            operand("dbeta", Role::Output, &shape[2..]).dense(),
        ]))
    }
}
