//! The definition of the mean squared error: axes, attributes and operands.

use crate::blocks::row::{Shape, axes};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};

/// The op.
#[derive(Debug)]
pub(super) struct Mse;

/// What the sum of squares is divided by.
pub(super) fn divisor(case: &Case) -> f64 {
    match REDUCTION.word(case) {
        "sum" => 1.0,
        _ => Shape::of(case).elements() as f64,
    }
}

const AXES: &[Axis] = &axes(1024);

const REDUCTION: Attribute = Attribute {
    name: "reduction",
    meaning: "whether the sum of squares is divided by their number",
    kind: AttributeKind::Word { words: &["mean", "sum"], default: "mean" },
};

const ATTRIBUTES: &[Attribute] = &[REDUCTION];

impl Definition for Mse {
    fn name(&self) -> &'static str {
        "mse"
    }

    fn summary(&self) -> &'static str {
        "loss = mean (x − target)², in f32"
    }

    fn edges(&self) -> &'static [&'static str] {
        &[
            "NaN, or infinities of one sign at one place, make NaN; others make it infinite",
            "squares are f32: from |x − target| > √(f32::MAX / n) on the loss is infinite",
            "of no elements the sum is 0 and the mean NaN",
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
        let operand = |name| Operand::new(name, Role::Input, case.dtype, &Shape::of(case).sizes);
        let loss = Operand::new("loss", Role::Output, DType::F32, &[1]).dense();
        Ok(Signature::new(vec![operand("x"), operand("target"), loss]))
    }
}
