//! The definition of layer normalisation: axes, attributes and operands.

use crate::blocks::row::{Shape, axes};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug, Default)]
pub(crate) struct LayerNorm;

/// A case's sizes and attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    /// Rows: `b · s`.
    pub(crate) rows: usize,
    /// Elements of a row.
    pub(crate) length: usize,
    /// What is added to the variance.
    pub(crate) eps: f64,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(crate) fn of(case: &Case) -> Problem {
        let Shape { rows, length, .. } = Shape::of(case);
        Problem { rows, length, eps: EPS.real(case) }
    }

    /// Whether rows of tiny elements are well defined: f32 squares may underflow against `eps`.
    pub(super) fn admits_tiny(&self) -> bool {
        self.eps >= 1e-30
    }
}

const AXES: &[Axis] = &axes(1024);

const EPS: Attribute = Attribute {
    name: "eps",
    meaning: "added to the variance",
    kind: AttributeKind::Real { low: 0.0, high: 1.0, default: 1e-5 },
};

/// The attributes of the op and of its gradient.
pub(crate) const ATTRIBUTES: &[Attribute] = &[EPS];

impl Definition for LayerNorm {
    fn name(&self) -> &'static str {
        "layer_norm"
    }

    fn summary(&self) -> &'static str {
        "y = (x − mean x) · gamma / √(variance of x + eps) + beta along each row"
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
            Operand::new("gamma", Role::Weight, case.dtype, &shape[2..]).dense(),
            Operand::new("beta", Role::Weight, case.dtype, &shape[2..]).dense(),
            Operand::new("y", Role::Output, case.dtype, &shape),
        ]))
    }
}
